// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Options of one section, in the order of the manual.
///
/// The default of an option is the value in a new `Owner`.
struct SettingsTable<Owner: Sendable>: Sendable {
    let options: [SettingsOption<Owner>]

    /// Messages for keys that are valid only for other kinds of vendors, by key.
    ///
    /// A message continues a sentence that begins with the key: `is an option of vendor kind ...`.
    var misplacedKeys: [String: String] = [:]

    init(_ options: SettingsOption<Owner>...) { self.options = options }

    init(_ options: [SettingsOption<Owner>], misplacedKeys: [String: String] = [:]) {
        self.options = options
        self.misplacedKeys = misplacedKeys
    }
}

struct SettingsOption<Owner: Sendable>: Sendable {
    let name: String
    var isRequired = false

    var expected: String?

    let read: @Sendable (YAMLPair, SettingsKey, inout Owner, inout SettingsReading) -> Void
    let write: @Sendable (Owner) -> YAMLNode?

    /// Returns the entry of the manual, with the values of `Owner` as defaults.
    let explain: @Sendable (Owner) -> SettingsManual.Entry
}

// MARK: - Reading and printing a section

extension SettingsTable {
    fileprivate static var expected: String { "a mapping of options (`key: value`)" }

    /// Values of later files replace values of earlier files.
    func read(
        _ node: YAMLNode,
        as key: SettingsKey,
        into owner: inout Owner,
        _ reading: inout SettingsReading
    ) {
        guard case .mapping(let pairs) = node.content else {
            reading.damage(key)
            reading.reportMismatch(node, key, expected: Self.expected)
            return
        }
        var misspelled: [String] = []
        for pair in pairs {
            guard let option = options.first(where: { $0.name == pair.key }) else {
                if let rule = misplacedKeys[pair.key] {
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
                // A misspelled required option is reported as unknown, but not as missing.
                if !key.path.isEmpty { reading.damage(key) }
                continue
            }
            let key = key.option(option.name)
            reading.note(pair.value.place, of: key)
            option.read(pair, key, &owner, &reading)
        }
        for name in misspelled where !reading.has(key.option(name).path) {
            reading.damage(key.option(name))
        }
        for option in options where option.isRequired && !reading.isDamaged(key.path) {
            let key = key.option(option.name)
            guard !reading.has(key.path) else { continue }
            reading.report(
                node.place,
                "`\(key.shown)` is missing",
                hint: option.expected.map { "it must be \($0)" }
            )
        }
    }

    func write(_ owner: Owner) -> YAMLNode {
        .map(options.compactMap { option in option.write(owner).map { (option.name, $0) } })
    }

    func writeBriefly(_ owner: Owner, defaults: Owner) -> YAMLNode {
        .map(
            options.compactMap { option in
                guard let value = option.write(owner) else { return nil }
                let isDefault = option.write(defaults)?.inline == value.inline
                return isDefault && !option.isRequired ? nil : (option.name, value)
            }
        )
    }

    func explain(_ owner: Owner) -> [SettingsManual.Entry] { options.map { $0.explain(owner) } }
}

// MARK: - Kinds of options

// Tables, key paths and examples are autoclosures, which are evaluated only on use, to save memory:
// the Swift runtime creates a class for each type of an evaluated key path.
extension SettingsOption {
    typealias Path<Value> = @Sendable () -> any WritableKeyPath<Owner, Value> & Sendable
    typealias Table<Section: Sendable> = @Sendable () -> SettingsTable<Section>

    /// Makes an option with a default value.
    ///
    /// - Parameters:
    ///   - standard: description of the default, if it depends on other options.
    ///   - example: value that the manual shows; if nil, the manual shows the default.
    static func option<Value>(
        _ name: String,
        _ path: @autoclosure @escaping Path<Value>,
        _ kind: SettingsKind<Value>,
        required: Bool = false,
        standard: String? = nil,
        example: @autoclosure @escaping @Sendable () -> Value? = nil,
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            isRequired: required,
            expected: required ? kind.expected : nil,
            read: { pair, key, owner, reading in
                guard let value = kind.read(pair.value, key, &reading) else {
                    reading.damage(key)
                    return
                }
                let path = path()
                owner[keyPath: path] = kind.join(owner[keyPath: path], value)
            },
            write: { kind.write($0[keyPath: path()]) },
            explain: { owner in
                let value = kind.write(owner[keyPath: path()])
                let note = required ? "required" : "default \(standard ?? value.inline)"
                return SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "\(kind.expected); \(note)",
                    form: .value(example().map(kind.write) ?? value),
                    isRequired: required,
                    schema: kind.schema,
                    standard: standard == nil && !required ? value : nil
                )
            }
        )
    }

    /// Makes an option without a default; `standard` describes the meaning of nil.
    static func option<Value>(
        _ name: String,
        _ path: @autoclosure @escaping Path<Value?>,
        _ kind: SettingsKind<Value>,
        required: Bool = false,
        standard: String = "none",
        alternative: String? = nil,
        example: @autoclosure @escaping @Sendable () -> Value,
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            isRequired: required,
            expected: required ? kind.expected : nil,
            read: { pair, key, owner, reading in
                let path = path()
                owner[keyPath: path] = kind.read(pair.value, key, &reading)
                if owner[keyPath: path] == nil { reading.damage(key) }
            },
            write: { $0[keyPath: path()].map(kind.write) },
            explain: { _ in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "\(kind.expected); " + (required ? "required" : "default \(standard)"),
                    form: .example(kind.write(example())),
                    isRequired: required,
                    alternative: alternative,
                    schema: kind.schema
                )
            }
        )
    }

    static func section<Section>(
        _ name: String,
        _ path: @autoclosure @escaping Path<Section>,
        _ table: @autoclosure @escaping Table<Section>,
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                table().read(pair.value, as: key, into: &owner[keyPath: path()], &reading)
            },
            write: { owner in
                let section = table().write(owner[keyPath: path()])
                if case .mapping(let pairs) = section.content, pairs.isEmpty { return nil }
                return section
            },
            explain: { owner in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    form: .section(table().explain(owner[keyPath: path()]))
                )
            }
        )
    }

    /// Makes an option for a section; the values `on` and `off` are also valid.
    static func section<Section>(
        _ name: String,
        _ path: @autoclosure @escaping Path<Section?>,
        _ table: @autoclosure @escaping Table<Section>,
        fresh: @autoclosure @escaping @Sendable () -> Section,
        isOn: Bool = false,
        isExample: Bool = false,
        doc: () -> String
    ) -> SettingsOption {
        let doc = doc()
        return SettingsOption(
            name: name,
            read: { pair, key, owner, reading in
                let path = path()
                var node = pair.value
                switch node.scalar {
                case "off", "false":
                    owner[keyPath: path] = nil
                    reading.forget(below: key)
                    return
                case "on", "true": node.content = .mapping([])
                case let text?:
                    reading.damage(key)
                    return reading.reportMismatch(
                        node,
                        key,
                        expected: "`on`, `off` or \(SettingsTable<Section>.expected)",
                        hint: ["yes": "on", "no": "off"][text.lowercased()]
                            .map { "did you mean `\($0)`?" }
                    )
                default: break
                }
                var section = owner[keyPath: path] ?? fresh()
                table().read(node, as: key, into: &section, &reading)
                owner[keyPath: path] = section
            },
            write: { owner in
                owner[keyPath: path()].map(table().write) ?? (isOn ? .word("off") : nil)
            },
            explain: { _ in
                SettingsManual.Entry(
                    name: name,
                    doc: doc,
                    facts: "`on`, `off` or a section; default \(isOn ? "on" : "off")",
                    form: .section(table().explain(fresh())),
                    isOff: isExample
                )
            }
        )
    }

    static func unread(_ name: String) -> SettingsOption {
        SettingsOption(
            name: name,
            read: { _, _, _, _ in },
            write: { _ in nil },
            explain: { _ in SettingsManual.Entry(name: name, form: .section([])) }
        )
    }
}
