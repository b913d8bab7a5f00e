// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The options of one section of the settings, in the order of the manual.
///
/// This is the single description from which parsing, checks, the manual and the printed settings
/// follow.  A row says what an option is called, where its value is kept, what it may be, and what
/// it is for; its default is what a fresh `Owner` holds there.
struct SettingsTable<Owner: Sendable>: Sendable {
    /// The rows.
    let options: [SettingsOption<Owner>]

    /// What to say about keys that mean something elsewhere, by key: the end of a sentence.
    var strangers: [String: String] = [:]

    init(_ options: SettingsOption<Owner>...) { self.options = options }

    init(_ options: [SettingsOption<Owner>], strangers: [String: String] = [:]) {
        self.options = options
        self.strangers = strangers
    }
}

/// A row of the table.
struct SettingsOption<Owner: Sendable>: Sendable {
    /// The key in the file, in kebab-case.
    let name: String

    /// Whether leaving it out is an error.
    var isRequired = false

    /// Reads the pair into its place in the owner, or reports why not.
    let read: @Sendable (YAMLPair, SettingsKey, inout Owner, inout SettingsReading) -> Void

    /// The value as it is printed, or nil if there is none.
    let write: @Sendable (Owner) -> YAMLNode?

    /// The option's part of the manual, with the defaults of the given owner.
    let explain: @Sendable (Owner) -> SettingsManual.Entry
}

// MARK: - Reading and printing a section

extension SettingsTable {
    /// Reads `node` into `owner`, over what files before have put there; reports every problem.
    func read(
        _ node: YAMLNode,
        as key: SettingsKey,
        into owner: inout Owner,
        _ reading: inout SettingsReading
    ) {
        guard case .mapping(let pairs) = node.content else {
            reading.damage(key)
            reading.reportMismatch(node, key, expected: "a mapping of options (`key: value`)")
            return
        }
        var misspelled: [String] = []
        for pair in pairs {
            guard let option = options.first(where: { $0.name == pair.key }) else {
                if let rule = strangers[pair.key] {
                    reading.report(pair.keyPlace, "`\(key.option(pair.key).shown)` \(rule)")
                    continue
                }
                let section = key.shown.isEmpty ? "" : " in `\(key.shown)`"
                let meant =
                    reading.isFull
                    ? nil : DidYouMean.closest(to: pair.key, among: options.map(\.name))
                reading.report(
                    pair.keyPlace,
                    "unknown key `\(pair.key.shortened)`\(section)",
                    hint: meant.map { "did you mean `\($0)`?" }
                )
                if let meant { misspelled.append(meant) }
                // In a section, no option is reported as missing: this key may be it.
                if !key.path.isEmpty { reading.damage(key) }
                continue
            }
            let key = key.option(option.name)
            reading.note(pair.value.place, of: key)
            option.read(pair, key, &owner, &reading)
        }
        // Checks that need such an option are left out; all others still report.
        for name in misspelled where !reading.has(key.option(name).path) {
            reading.damage(key.option(name))
        }
        for option in options where option.isRequired && !reading.isDamaged(key.path) {
            let key = key.option(option.name)
            if !reading.has(key.path) { reading.report(node.place, "`\(key.shown)` is missing") }
        }
    }

    /// The section as it is printed.
    func write(_ owner: Owner) -> YAMLNode {
        .map(options.compactMap { option in option.write(owner).map { (option.name, $0) } })
    }

    /// The section without what is at its default.
    func writeBriefly(_ owner: Owner, defaults: Owner) -> YAMLNode {
        .map(
            options.compactMap { option in
                guard let value = option.write(owner) else { return nil }
                let isDefault = option.write(defaults)?.inline == value.inline
                return isDefault && !option.isRequired ? nil : (option.name, value)
            }
        )
    }

    /// The section as the manual explains it.
    func explain(_ owner: Owner) -> [SettingsManual.Entry] {
        options.map { $0.explain(owner) }
    }
}

// MARK: - Kinds of rows

extension SettingsOption {
    /// An option with one value.
    ///
    /// - Parameters:
    ///   - standard: the default in words, where it depends on other options.
    ///   - example: what the manual shows where the default would show too little.
    ///   - joining: what becomes of the value of a file before and this one: this one.
    ///   - doc: a paragraph of the manual.
    static func option<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Value> & Sendable,
        _ kind: SettingsKind<Value>,
        required: Bool = false,
        standard: String? = nil,
        example: Value? = nil,
        joining: @escaping @Sendable (_ before: Value, _ value: Value) -> Value = { $1 },
        _ doc: String
    ) -> SettingsOption {
        SettingsOption(
            name: name,
            isRequired: required,
            read: { pair, key, owner, reading in
                guard let value = kind.read(pair.value, key, &reading) else {
                    reading.damage(key)
                    return
                }
                owner[keyPath: path] = joining(owner[keyPath: path], value)
            },
            write: { kind.write($0[keyPath: path]) },
            explain: { owner in
                let value = kind.write(owner[keyPath: path])
                let note = required ? "required" : "default \(standard ?? value.inline)"
                return SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "\(kind.expected); \(note)",
                    form: .value(example.map(kind.write) ?? value),
                    isRequired: required,
                    schema: kind.schema,
                    standard: standard == nil && !required ? value : nil
                )
            }
        )
    }

    /// An option that may be absent, which no value says.
    ///
    /// - Parameter standard: what its absence means, in words.
    static func option<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Value?> & Sendable,
        _ kind: SettingsKind<Value>,
        required: Bool = false,
        standard: String = "none",
        example: Value,
        _ doc: String
    ) -> SettingsOption {
        SettingsOption(
            name: name,
            isRequired: required,
            read: { pair, key, owner, reading in
                owner[keyPath: path] = kind.read(pair.value, key, &reading)
                if owner[keyPath: path] == nil { reading.damage(key) }
            },
            write: { $0[keyPath: path].map(kind.write) },
            explain: { _ in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "\(kind.expected); " + (required ? "required" : "default \(standard)"),
                    form: .example(kind.write(example)),
                    isRequired: required,
                    schema: kind.schema
                )
            }
        )
    }

    /// A section of options with a table of its own.
    static func section<Section>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Section> & Sendable,
        _ table: SettingsTable<Section>,
        _ doc: String
    ) -> SettingsOption {
        SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                table.read(pair.value, as: key, into: &owner[keyPath: path], &reading)
            },
            write: { owner in
                let section = table.write(owner[keyPath: path])
                if case .mapping(let pairs) = section.content, pairs.isEmpty { return nil }
                return section
            },
            explain: { owner in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    form: .section(table.explain(owner[keyPath: path]))
                )
            }
        )
    }

    /// A section that can be off: `off` says so, and `on` takes all its defaults.
    ///
    /// - Parameters:
    ///   - fresh: the section with every option at its default.
    ///   - isOn: whether it is on where the file does not name it.
    static func section<Section>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Section?> & Sendable,
        _ table: SettingsTable<Section>,
        fresh: Section,
        isOn: Bool = false,
        _ doc: String
    ) -> SettingsOption {
        SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                var node = pair.value
                switch node.scalar {
                case "off", "false":
                    owner[keyPath: path] = nil
                    reading.forget(below: key)
                    return
                case "on", "true": node.content = .mapping([])
                default: break
                }
                var section = owner[keyPath: path] ?? fresh
                table.read(node, as: key, into: &section, &reading)
                owner[keyPath: path] = section
            },
            write: { owner in
                owner[keyPath: path].map(table.write) ?? (isOn ? .word("off") : nil)
            },
            explain: { _ in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "a section, or `off`; default \(isOn ? "on" : "off")",
                    form: .section(table.explain(fresh))
                )
            }
        )
    }

    /// An option of an entry whose kind cannot be told, so that its value cannot be judged.
    static func unread(_ name: String) -> SettingsOption {
        SettingsOption(
            name: name,
            read: { _, _, _, _ in },
            write: { _ in nil },
            explain: { _ in SettingsManual.Entry(name: name, form: .section([])) }
        )
    }
}
