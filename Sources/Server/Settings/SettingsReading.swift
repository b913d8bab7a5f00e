// SPDX-License-Identifier: Apache-2.0

/// What reading a settings file gathers besides the settings: problems, and where things stood.
struct SettingsReading {
    /// More problems than this help nobody; the rest is only counted, and warnings dropped.
    static let maximumProblems = 100

    /// The file as it was named on the command line, and behind it its drop-ins.
    let files: [String]

    /// Where secrets come from.
    let environment: SettingsEnvironment

    private var problems: [(place: YAMLPlace, problem: SettingsProblem)] = []
    private var warnings: [(place: YAMLPlace, problem: SettingsProblem)] = []

    /// How many problems there are beyond those that are kept.
    private var furtherProblems = 0

    /// Names of vendors and upstreams that exist but were left out, being not yet supported.
    var leftOut: Set<String> = []

    /// Where each value stood, by path, as `routes[0].domains[2]`; indices are the model's.
    private var places: [String: YAMLPlace] = [:]

    /// Paths of the values that could not be read whole: what depends on them is not judged.
    private var damaged: Set<String> = []

    init(files: [String], environment: SettingsEnvironment) {
        self.files = files
        self.environment = environment
    }
}

/// The name of an option, for people and for cross checks.
struct SettingsKey: Sendable {
    /// As messages name it, without indices: `routes.domains`.
    var shown = ""

    /// As cross checks find it: `routes[0].domains`.
    var path = ""

    /// The key of an option of this section.
    func option(_ name: String) -> SettingsKey {
        SettingsKey(
            shown: shown.isEmpty ? name : "\(shown).\(name)",
            path: path.isEmpty ? name : "\(path).\(name)"
        )
    }

    /// The key of an item of this list, or of the entry called `name`.
    func item(_ index: Int, name: String? = nil) -> SettingsKey {
        SettingsKey(
            shown: name.map { "\(shown).\($0)" } ?? shown,
            path: "\(path)[\(index)]"
        )
    }
}

// MARK: - Places

extension SettingsReading {
    /// Remembers where the value of `key` stands.
    mutating func note(_ place: YAMLPlace, of key: SettingsKey) { places[key.path] = place }

    /// Remembers that the value of `key` could not be read whole.
    mutating func damage(_ key: SettingsKey) { damaged.insert(key.path) }

    /// Whether the file has the option at `path`, readable or not.
    func has(_ path: String) -> Bool { places[path] != nil }

    /// Whether the option at `path` is there but could not be read whole.
    func isDamaged(_ path: String) -> Bool { damaged.contains(path) }

    /// Forgets what stood below `key`, as a later file takes it all away.
    mutating func forget(below key: SettingsKey) {
        let isBelow = { (path: String) in
            path.hasPrefix(key.path + ".") || path.hasPrefix(key.path + "[")
        }
        places = places.filter { !isBelow($0.key) }
        damaged = damaged.filter { !isBelow($0) }
    }

    /// A place as the settings keep it.
    func place(at place: YAMLPlace) -> SettingsPlace {
        SettingsPlace(file: files[place.file], line: place.line, column: place.column)
    }

    /// How a message at `place` points to another one: `on line 3`, or `at /etc/….yaml:3`.
    func pointer(to other: YAMLPlace, from place: YAMLPlace) -> String {
        other.file == place.file ? "on line \(other.line)" : "at \(self.place(at: other))"
    }

    /// Where the value at `path` stands; for what is not in the file, the start.
    func place(of path: String) -> YAMLPlace { places[path] ?? .start }
}

// MARK: - Problems

extension SettingsReading {
    /// Takes note of an error.
    mutating func report(_ place: YAMLPlace, _ message: String, hint: String? = nil) {
        guard !isFull else {
            furtherProblems += 1
            return
        }
        problems.append((place, problem(place, message, hint: hint)))
    }

    /// Whether further problems are only counted.
    var isFull: Bool { problems.count >= Self.maximumProblems }

    /// Takes note of something odd.
    mutating func warn(_ place: YAMLPlace, _ message: String, hint: String? = nil) {
        guard warnings.count < Self.maximumProblems else { return }
        warnings.append((place, problem(place, message, hint: hint)))
    }

    /// Reports a value that is not what the option takes.
    ///
    /// A value that was refused while the text was read has its complaint already.
    mutating func reportMismatch(
        _ node: YAMLNode,
        _ key: SettingsKey,
        expected: String,
        hint: String? = nil
    ) {
        let name = key.shown.isEmpty ? "the file" : "`\(key.shown)`"
        switch node.content {
        case .refused:
            break
        case _ where node.isNull:
            report(
                node.place,
                "\(name) has no value; it must be \(expected)",
                hint: hint ?? "to use the default, leave the key out"
            )
        case .scalar(let text, _):
            report(
                node.place,
                "\(name) must be \(expected), not `\(text.shortened)`",
                hint: hint
            )
        case .sequence:
            report(node.place, "\(name) must be \(expected), not a list", hint: hint)
        case .mapping:
            report(node.place, "\(name) must be \(expected), not a mapping", hint: hint)
        }
    }

    /// The errors in the order of the file, or nil if there are none.
    var errors: SettingsErrors? {
        guard !problems.isEmpty else { return nil }
        var sorted = Self.sorted(problems)
        if furtherProblems > 0 {
            sorted[sorted.count - 1].hint =
                [sorted[sorted.count - 1].hint, "and \(furtherProblems) more problems"]
                .compactMap(\.self).joined(separator: "; ")
        }
        return SettingsErrors(problems: sorted, warnings: Self.sorted(warnings))
    }

    /// The warnings in the order of the files.
    var sortedWarnings: [SettingsProblem] { Self.sorted(warnings) }

    private static func sorted(
        _ problems: [(place: YAMLPlace, problem: SettingsProblem)]
    ) -> [SettingsProblem] {
        problems.sorted { $0.place < $1.place }.map(\.problem)
    }

    private func problem(_ place: YAMLPlace, _ message: String, hint: String?) -> SettingsProblem {
        SettingsProblem(
            file: files[place.file],
            line: place.line,
            column: place.column,
            message: message,
            hint: hint
        )
    }
}
