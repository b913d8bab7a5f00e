// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Errors, warnings and positions of values, collected while settings are read.
struct SettingsReading {
    static let maximumProblems = 100
    let files: [String]
    let environment: SettingsEnvironment
    private var problems: [(place: YAMLPlace, problem: SettingsComplaint)] = []
    private var warnings: [(place: YAMLPlace, problem: SettingsComplaint)] = []
    private var furtherProblems = 0

    var leftOut: Set<String> = []

    /// Positions of values by path in `Settings`, such as `vendors[0].servers[2]`.
    private var places: [String: YAMLPlace] = [:]

    /// Positions of values below `routes`, by the hash of the path.
    ///
    /// Hashes instead of paths save up to 60 MB. If two paths have the same hash, an error about
    /// one of these values shows a wrong position.
    private var routePlaces: [Int: PackedPlace] = [:]

    var patterns = 0

    private var lists: Set<[String]> = []

    /// Further checks skip the values at these paths.
    private var damaged: Set<String> = []

    init(files: [String], environment: SettingsEnvironment) {
        self.files = files
        self.environment = environment
    }
}

/// Position in 8 octets: 9 bits for the file, 27 for the line, 28 for the column.
private struct PackedPlace {
    private let bits: UInt64

    init(_ place: YAMLPlace) {
        bits = UInt64(place.file) << 55 | UInt64(place.line) << 28 | UInt64(place.column)
    }

    var place: YAMLPlace {
        YAMLPlace(
            file: Int(bits >> 55),
            line: Int(bits >> 28 & (1 << 27 - 1)),
            column: Int(bits & (1 << 28 - 1))
        )
    }
}

struct SettingsKey: Sendable {
    var shown = ""
    var path = ""

    func option(_ name: String) -> SettingsKey {
        SettingsKey(
            shown: shown.isEmpty ? name : "\(shown).\(name)",
            path: path.isEmpty ? name : "\(path).\(name)"
        )
    }

    func item(_ index: Int, name: String? = nil) -> SettingsKey {
        SettingsKey(shown: name.map { "\(shown).\($0)" } ?? shown, path: "\(path)[\(index)]")
    }
}

// MARK: - Places

extension SettingsReading {
    mutating func note(_ place: YAMLPlace, of key: SettingsKey) {
        if Self.isOfRoute(key.path) {
            routePlaces[key.path.hashValue] = PackedPlace(place)
        } else {
            places[key.path] = place
        }
    }

    private static func isOfRoute(_ path: String) -> Bool { path.hasPrefix("routes[") }
    mutating func damage(_ key: SettingsKey) { damaged.insert(key.path) }

    /// Also true for an option with an invalid value.
    func has(_ path: String) -> Bool { known(path) != nil }

    private func known(_ path: String) -> YAMLPlace? {
        Self.isOfRoute(path) ? routePlaces[path.hashValue]?.place : places[path]
    }

    func isDamaged(_ path: String) -> Bool { damaged.contains(path) }

    /// Removes the positions of values below `key`, because a later file replaces the values.
    mutating func forget(below key: SettingsKey) {
        let isBelow = { (path: String) in
            path.hasPrefix(key.path + ".") || path.hasPrefix(key.path + "[")
        }
        places = places.filter { !isBelow($0.key) }
        guard key.path == YAMLReader.longList else { return }
        routePlaces = [:]
        patterns = 0
        damaged = damaged.filter { !isBelow($0) }
    }

    func place(at place: YAMLPlace) -> SettingsPlace {
        SettingsPlace(file: files[place.file], line: place.line, column: place.column)
    }

    func pointer(to other: YAMLPlace, from place: YAMLPlace) -> String {
        other.file == place.file ? "on line \(other.line)" : "at \(self.place(at: other))"
    }

    func place(of path: String) -> YAMLPlace { known(path) ?? .start }
}

// MARK: - Sharing

extension SettingsReading {
    /// Replaces a list by an equal list of an earlier route, so that the routes share storage.
    mutating func share(_ list: inout [String]) {
        if !list.isEmpty { list = lists.insert(list).memberAfterInsert }
    }
}

// MARK: - Problems

extension SettingsReading {
    mutating func report(
        _ place: YAMLPlace,
        _ message: String,
        hint: String? = nil,
        describesSecret: Bool = false
    ) {
        guard !isFull else {
            furtherProblems += 1
            return
        }
        var problem = problem(place, message, hint: hint)
        problem.describesSecret = describesSecret
        problems.append((place, problem))
    }

    var isFull: Bool { problems.count >= Self.maximumProblems }

    mutating func warn(_ place: YAMLPlace, _ message: String, hint: String? = nil) {
        guard warnings.count < Self.maximumProblems else { return }
        warnings.append((place, problem(place, message, hint: hint)))
    }

    /// Reports a value of the wrong type, unless the YAML reader has already reported the value.
    mutating func reportMismatch(
        _ node: YAMLNode,
        _ key: SettingsKey,
        expected: String,
        hint: String? = nil
    ) {
        let name = key.shown.isEmpty ? "the file" : "`\(key.shown)`"
        switch node.content {
        case .refused: break
        case _ where node.isNull:
            report(
                node.place,
                "\(name) has no value; it must be \(expected)",
                hint: hint ?? "to use the default, leave the key out"
            )
        case .scalar(let text, _):
            report(
                node.place,
                "\(name) must be \(expected), not `\(text.withoutSecrets.shortened)`",
                hint: hint
            )
        case .sequence, .taken:
            report(node.place, "\(name) must be \(expected), not a list", hint: hint)
        case .mapping: report(node.place, "\(name) must be \(expected), not a mapping", hint: hint)
        }
    }

    var errors: SettingsErrors? {
        guard !problems.isEmpty else { return nil }
        var sorted = Self.sorted(problems)
        if furtherProblems > 0 {
            sorted[sorted.count - 1].hint =
                [sorted[sorted.count - 1].hint, "and \(furtherProblems) more errors"]
                .compactMap(\.self).joined(separator: "; ")
        }
        return SettingsErrors(problems: sorted, warnings: Self.sorted(warnings))
    }

    var sortedWarnings: [SettingsComplaint] { Self.sorted(warnings) }

    private static func sorted(
        _ problems: [(place: YAMLPlace, problem: SettingsComplaint)]
    ) -> [SettingsComplaint] { problems.sorted { $0.place < $1.place }.map(\.problem) }

    private func problem(_ place: YAMLPlace, _ message: String, hint: String?) -> SettingsComplaint
    {
        SettingsComplaint(
            file: files[place.file],
            line: place.line,
            column: place.column,
            message: message,
            hint: hint
        )
    }
}
