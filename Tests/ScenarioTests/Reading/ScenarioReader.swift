// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct ScenarioReader {
    private let file: String
    private let lines: [Substring]

    private var next = 0

    /// Allowed number of lines of the overview, which is the comment at the start of the file.
    static let overview = 2...5

    private init(_ text: String, file: String) {
        self.file = file
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    static func read(_ text: String, file: String) throws -> Scenario {
        var reader = ScenarioReader(text, file: file)
        return try reader.scenario()
    }

    var place: Place { Place(file: file, line: next) }

    func error(_ message: String) -> ScenarioError { ScenarioError(place: place, message: message) }

    /// Returns the words of the next non-empty line, without its comment; nil at the end.
    mutating func words() throws -> [String]? {
        while next < lines.count {
            let line = lines[next]
            next += 1
            let words = try Words.split(line, at: place)
            if !words.isEmpty { return words }
        }
        return nil
    }

    /// Returns the words of the next line; at the end of the step, returns nil and reads no line.
    mutating func wordsOfStep() throws -> [String]? {
        guard let words = try words() else { return nil }
        guard ["STEP", "SCENARIO_END"].contains(words[0]) else { return words }
        next -= 1
        return nil
    }

    /// Returns the words of the next line; at the section's end, returns nil and reads no line.
    mutating func wordsOfSection() throws -> [String]? {
        guard let words = try words() else { return nil }
        guard ["SECTION", "ENTRY_END"].contains(words[0]) else { return words }
        next -= 1
        return nil
    }

    private mutating func scenario() throws -> Scenario {
        var scenario = Scenario(file: file)
        while next < lines.count, lines[next].hasPrefix(";") {
            let text = lines[next].drop { $0 == ";" || $0 == " " }
            next += 1
            if !text.isEmpty { scenario.overview.append(String(text)) }
        }
        guard Self.overview.contains(scenario.overview.count) else {
            throw error("a scenario begins with its promise, in 2 to 5 lines")
        }
        var settings = Array(repeating: Substring(), count: next)
        while next < lines.count, lines[next] != "CONFIG_END" {
            settings.append(lines[next])
            next += 1
        }
        guard next < lines.count else { throw error("missing CONFIG_END") }
        next += 1
        scenario.settings = settings.joined(separator: "\n") + "\n"

        guard let begin = try words(), begin[0] == "SCENARIO_BEGIN", begin.count > 1 else {
            throw error("expected SCENARIO_BEGIN and a title")
        }
        scenario.title = begin.dropFirst().joined(separator: " ")
        while let words = try words() {
            switch words[0] {
            case "RANGE_BEGIN":
                guard scenario.steps.isEmpty else { throw error("ranges must precede steps") }
                scenario.ranges.append(try range(words))
            case "STEP":
                let step = try step(words)
                if let last = scenario.steps.last, last.number >= step.number {
                    throw ScenarioError(place: step.place, message: "steps have rising numbers")
                }
                scenario.steps.append(step)
            case "SCENARIO_END":
                guard try self.words() == nil else { throw error("text after SCENARIO_END") }
                guard !scenario.steps.isEmpty else { throw error("missing steps") }
                return scenario
            default:
                throw error("`\(words[0])`: expected RANGE_BEGIN, STEP or SCENARIO_END")
            }
        }
        throw error("missing SCENARIO_END")
    }

    private mutating func range(_ words: [String]) throws -> Scenario.Range {
        let place = place
        guard words.count == 3, let first = Int(words[1]), let last = Int(words[2]), first <= last
        else { throw error("RANGE_BEGIN needs its first and last step") }
        guard let who = try self.words() else { throw error("missing RANGE_END") }
        var range = Scenario.Range(
            place: place,
            steps: first...last,
            peer: try peer(who),
            entries: []
        )
        while let words = try self.words() {
            switch words[0] {
            case "ENTRY_BEGIN": range.entries.append(try entry())
            case "RANGE_END": return range
            default: throw error("`\(words[0])`: expected ENTRY_BEGIN or RANGE_END")
            }
        }
        throw error("missing RANGE_END")
    }

    private func peer(_ words: [String]) throws -> Scenario.Peer {
        switch (words[0], words.count) {
        case ("ADDRESS", 2): return .upstream(words[1])
        case ("VENDOR", 2): return .vendor(words[1], server: nil)
        case ("VENDOR", 4) where words[2] == "SERVER": return .vendor(words[1], server: words[3])
        case ("SERVER", 4) where words[3] == "SILENT":
            return .server(words[1], port: try port(words[2]), accepts: nil)
        case ("SERVER", 5) where words[3] == "ACCEPTS":
            return .server(words[1], port: try port(words[2]), accepts: try duration(words[4]))
        default: throw error("expected ADDRESS, VENDOR or SERVER")
        }
    }
}

extension ScenarioReader {
    private func port(_ text: String) throws -> UInt16 {
        guard let port = UInt16(text) else { throw error("invalid port `\(text)`") }
        return port
    }
}

enum Words {
    /// Splits a line at spaces, except in quoted text, and removes the comment after `;`.
    static func split(_ line: Substring, at place: Place) throws -> [String] {
        var words: [String] = []
        var word = ""
        var isQuoted = false
        for character in line {
            if character == "\"" { isQuoted.toggle() }
            if !isQuoted, character == ";" { break }
            if !isQuoted, character == " " || character == "\t" {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        guard !isQuoted else { throw ScenarioError(place: place, message: "a quote has no end") }
        return word.isEmpty ? words : words + [word]
    }

    /// Parses `300ms`, `1.5s`, `5m`, `2h` or `1d`; a number without a unit is in seconds.
    static func duration(_ text: String) -> Duration? {
        let units: [(suffix: String, milliseconds: Double)] = [
            ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        let unit = units.first { text.hasSuffix($0.suffix) } ?? ("", 1_000)
        guard let number = Double(text.dropLast(unit.suffix.count)), number >= 0, number < 1e9
        else { return nil }
        return .milliseconds(Int64((number * unit.milliseconds).rounded()))
    }
}
