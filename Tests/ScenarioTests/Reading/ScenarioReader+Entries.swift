// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension ScenarioReader {
    mutating func wantedEntry() throws -> Entry {
        guard let words = try words(), words == ["ENTRY_BEGIN"] else {
            throw error("expected ENTRY_BEGIN")
        }
        return try entry()
    }

    mutating func entry() throws -> Entry {
        var entry = Entry(place: place)
        while let words = try words() {
            switch words[0] {
            case "ENTRY_END": return entry
            case "SECTION": try section(words, &entry)
            default: try property(words[0], Array(words.dropFirst()), &entry)
            }
        }
        throw error("missing ENTRY_END")
    }

    private func property(
        _ key: String,
        _ words: [String],
        _ entry: inout Entry
    ) throws {
        switch (key, words.count) {
        case ("MATCH", 1...):
            for word in words { try match(word, &entry) }
        case ("ADJUST", 1...):
            for word in words {
                guard let adjusting = Adjusting(rawValue: word) else {
                    throw error("unknown adjustment `\(word)`")
                }
                entry.adjust.insert(adjusting)
            }
        case ("REPLY", 1...):
            for word in words { try flag(word, &entry) }
        case ("EDNS", 1):
            entry.payloadSize = UInt16(clamping: try integer(words[0]))
        case ("EDE", 1...):
            entry.extendedErrors = try words.map { UInt16(clamping: try integer($0)) }
        case ("TCP", 0):
            entry.isTCP = true
        case ("OCTETS", 1):
            entry.octets = try integer(words[0])
        case ("DELAY", 1):
            entry.delay = try duration(words[0])
        case ("AFTER", 1):
            entry.after = try duration(words[0])
        case ("WITHIN", 1):
            entry.within = try duration(words[0])
        case ("FAULT", 1...):
            entry.fault = try misdeed(words)
        default:
            throw error("invalid line `\(key)` of an entry")
        }
    }

    private func match(_ word: String, _ entry: inout Entry) throws {
        if word == "all" {
            entry.match.formUnion(Matching.all)
        } else if let matching = Matching(rawValue: word) {
            entry.match.insert(matching)
        } else {
            let known = ["all"] + Matching.allCases.map(\.rawValue)
            throw error("`\(word)` cannot be matched; \(known.joined(", ")) can")
        }
    }

    private func flag(_ word: String, _ entry: inout Entry) throws {
        let bits: [String: UInt16] = [
            "QR": 0x8000, "AA": 0x0400, "TC": 0x0200, "RD": 0x0100, "RA": 0x0080, "AD": 0x0020,
            "CD": 0x0010,
        ]
        if let bit = bits[word] {
            entry.flags |= bit
        } else if word == "DO" {
            entry.dnssecOK = true
        } else if let rcode = RCode(word) {
            entry.rcode = rcode
        } else {
            throw error("`\(word)` is neither a flag nor an RCODE")
        }
    }

    private func misdeed(_ words: [String]) throws -> Misdeed {
        switch (words[0], words.count) {
        case ("silent", 1): return .silent
        case ("silent-on-old-connection", 1): return .silentOnOldConnection
        case ("unreachable", 1): return .unreachable
        case ("bad-certificate", 1): return .badCertificate
        case ("breaks-off", 1): return .breaksOff
        case ("status", 2): return .status(try integer(words[1]), retryAfter: nil)
        case ("status", 4) where words[2] == "retry-after":
            return .status(try integer(words[1]), retryAfter: try integer(words[3]))
        case ("says", 2): return .says(words[1].filter { $0 != "\"" })
        case ("other-key", 1): return .otherKey
        case ("other-name", 1): return .otherName
        case ("clock-ahead", 2): return .clockAhead(seconds: try integer(words[1]))
        default: throw error("unknown fault `\(words.joined(" "))`")
        }
    }

    private mutating func section(_ words: [String], _ entry: inout Entry) throws {
        guard words.count == 2 else { throw error("SECTION needs a name") }
        let name = words[1]
        while let words = try wordsOfSection() {
            switch name {
            case "QUESTION":
                guard entry.question == nil else { throw error("one question is enough") }
                entry.question = try question(words)
            case "ANSWER": entry.answers.append(try record(words))
            case "AUTHORITY": entry.authorities.append(try record(words))
            case "ADDITIONAL": entry.additionals.append(try record(words))
            default: throw error("unknown section `\(name)`")
            }
        }
    }

    private func question(_ words: [String]) throws -> Question {
        guard words.count == 3, let recordClass = RecordClass(words[1]) else {
            throw error("a question needs name, class and type")
        }
        return Question(
            name: try name(words[0]),
            type: try type(words[2]),
            recordClass: recordClass
        )
    }

    private func record(_ words: [String]) throws -> Record {
        do {
            return try RecordText.record(words)
        } catch let fault as RecordText.Fault {
            throw error(fault.message)
        }
    }
}
