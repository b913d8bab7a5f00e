// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Net

extension ScenarioReader {
    mutating func step(_ words: [String]) throws -> Scenario.Step {
        let place = place
        guard words.count > 2, let number = Int(words[1]) else {
            throw error("STEP needs a number and an event")
        }
        let action = try action(words[2], Array(words.dropFirst(3)))
        return Scenario.Step(place: place, number: number, action: action)
    }

    private mutating func action(_ verb: String, _ arguments: [String]) throws -> Scenario.Action {
        switch (verb, arguments.count) {
        case ("QUERY", 0):
            let entry = try wantedEntry()
            guard entry.question != nil else { throw error("a query needs a question") }
            return .query(entry)
        case ("CHECK_ANSWER", 0):
            return .checkAnswer(try wantedEntry(), of: nil)
        case ("CHECK_ANSWER", 2) where arguments[0] == "OF":
            return .checkAnswer(try wantedEntry(), of: try integer(arguments[1]))
        case ("CHECK_NO_ANSWER", 2) where arguments[0] == "OF":
            return .checkNoAnswer(of: try integer(arguments[1]))
        case ("CHECK_OUT_QUERY", 0):
            return .checkOutQuery(try wantedEntry())
        case ("CHECK_ASKED", 0):
            return .checkAsked(try lines())
        case ("CHECK_CACHED", 1):
            return .checkCached(try name(arguments[0]), try lines())
        case ("CHECK_EXPLAINED", 2):
            let request = ExplainRequest(name: arguments[0], type: arguments[1])
            return .checkExplained(request, try lines())
        case ("CHECK_BILLED", 1):
            return .checkBilled(vendor: nil, try integer(arguments[0]))
        case ("CHECK_BILLED", 2):
            return .checkBilled(vendor: arguments[0], try integer(arguments[1]))
        case ("TIME_PASSES", 2) where arguments[0] == "ELAPSE":
            return .timePasses(try duration(arguments[1]))
        case ("TIMEOUT", 0): return .timeout
        case ("NOTHING", 0): return .nothing
        case ("NETWORK_CHANGE", 0): return .networkChange(nil)
        case ("NETWORK_CHANGE", 1):
            guard let stack = NetworkStack(rawValue: arguments[0]) else {
                throw error("`\(arguments[0])` is not v4, v6, dual or none")
            }
            return .networkChange(stack)
        case ("PORTAL", 1):
            let isEnd = arguments[0] == "OFF"
            return .portal(seconds: isEnd ? nil : try integer(arguments[0]))
        case ("NETWORK_RESOLVERS", 0): return .resolvers(try lines())
        case ("HOSTS", 0): return .hosts(try lines())
        case ("FLUSH", 1...) where arguments[0] == "SOFT":
            return .flush(try scope(Array(arguments.dropFirst())), isSoft: true)
        case ("FLUSH", _): return .flush(try scope(arguments), isSoft: false)
        case ("PAUSE", 1): return .pause(vendor: arguments[0])
        case ("RESUME", 1): return .resume(vendor: arguments[0])
        default: throw error("unknown step `\(([verb] + arguments).joined(" "))`")
        }
    }

    private func scope(_ arguments: [String]) throws -> FlushRequest.Scope {
        switch (arguments.first, arguments.count) {
        case (nil, 0): return .all
        case ("NEGATIVE", 1): return .negative
        case ("STALE", 1): return .stale
        case ("TREE", 2): return .tree(arguments[1])
        case ("SOURCE", 2): return .source(arguments[1])
        case (let name?, 1): return .name(name, type: nil)
        case (let name?, 2): return .name(name, type: arguments[1])
        default: throw error("invalid arguments of FLUSH")
        }
    }

    private mutating func lines() throws -> [String] {
        var lines: [String] = []
        while let words = try wordsOfStep() { lines.append(words.joined(" ")) }
        return lines
    }

    func integer(_ text: String) throws -> Int {
        guard let number = Int(text), number >= 0 else { throw error("invalid number `\(text)`") }
        return number
    }

    func duration(_ text: String) throws -> Duration {
        guard let duration = Words.duration(text) else {
            throw error("invalid time `\(text)`")
        }
        return duration
    }

    func name(_ text: String) throws -> Name {
        do {
            return try Name(text)
        } catch {
            throw self.error("invalid name `\(text)`: \(error)")
        }
    }

    func type(_ text: String) throws -> RecordType {
        guard let type = RecordType(text) else { throw error("unknown type `\(text)`") }
        return type
    }
}

extension [String] {
    func joined(_ separator: String) -> String { joined(separator: separator) }
}
