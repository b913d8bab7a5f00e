// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Type of an option: functions that read and print values, and a description.
struct SettingsKind<Value: Sendable>: Sendable {
    /// Description for messages, such as `a duration from 100ms to 1m`.
    let expected: String

    /// Reads a value; reports an error and returns nil if the value is invalid.
    let read: @Sendable (YAMLNode, SettingsKey, inout SettingsReading) -> Value?

    let write: @Sendable (Value) -> YAMLNode

    /// JSON Schema; accepts all values that `read` accepts, and few values that `read` rejects.
    var schema = SettingsSchema.string()

    /// Combines the values of two files; by default, returns the value of the later file.
    var join: @Sendable (_ before: Value, _ value: Value) -> Value = { $1 }
}

struct Mismatch: Error {
    var message: String?
    var hint: String?
}

// MARK: - Shapes

extension SettingsKind {
    static func scalar(
        _ expected: String,
        schema: YAMLNode = SettingsSchema.string(),
        read: @escaping @Sendable (String) throws(Mismatch) -> Value,
        write: @escaping @Sendable (Value) -> YAMLNode = { .text("\($0)") }
    ) -> SettingsKind {
        SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard let text = node.scalar, !node.isNull else {
                    reading.reportMismatch(node, key, expected: expected)
                    return nil
                }
                do throws(Mismatch) {
                    return try read(text)
                } catch {
                    if let message = error.message {
                        reading.report(node.place, "`\(key.shown)`: \(message)", hint: error.hint)
                    } else {
                        reading.reportMismatch(node, key, expected: expected, hint: error.hint)
                    }
                    return nil
                }
            },
            write: write,
            schema: schema
        )
    }

    /// Returns a copy that also reports each value for which `complaint` returns an error.
    ///
    /// - Parameter describesSecret: true if the error depends on the content of a secret file.
    func rejecting(
        expected description: String? = nil,
        describesSecret: Bool = false,
        _ complaint:
            @escaping @Sendable (Value, SettingsEnvironment) -> (message: String, hint: String?)?
    ) -> SettingsKind {
        SettingsKind(
            expected: description ?? expected,
            read: { node, key, reading in
                guard let value = read(node, key, &reading) else { return nil }
                guard let error = complaint(value, reading.environment) else { return value }
                reading.report(
                    node.place,
                    "`\(key.shown)`: \(error.message)",
                    hint: error.hint,
                    describesSecret: describesSecret
                )
                return nil
            },
            write: write,
            schema: schema
        )
    }

    /// Invalid items are reported and omitted.
    static func list<Item>(
        _ plural: String,
        of kind: SettingsKind<Item>,
        count: ClosedRange<Int> = 0...SettingsLimits.items
    ) -> SettingsKind where Value == [Item] {
        let expected = "a list of \(plural)"
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard case .sequence(let items) = node.content else {
                    let hint = hint(replacing: node, key, kind, reading)
                    reading.reportMismatch(node, key, expected: expected, hint: hint)
                    return nil
                }
                guard count.contains(items.count) else {
                    reading.report(
                        node.place,
                        "`\(key.shown)` takes \(count.lowerBound) to \(count.upperBound) \(plural),"
                            + " not \(items.count)"
                    )
                    return nil
                }
                var values: [Item] = []
                for item in items {
                    let itemKey = key.item(values.count)
                    if let value = kind.read(item, itemKey, &reading) {
                        reading.note(item.place, of: itemKey)
                        values.append(value)
                    } else {
                        reading.damage(key)
                    }
                }
                return values
            },
            write: { .list($0.map(kind.write)) },
            schema: SettingsSchema.list(of: kind.schema, count: count)
        )
    }

    private static func hint<Item>(
        replacing node: YAMLNode,
        _ key: SettingsKey,
        _ kind: SettingsKind<Item>,
        _ reading: SettingsReading
    ) -> String? {
        guard let text = node.scalar, !node.isNull else { return nil }
        var trial = SettingsReading(files: reading.files, environment: reading.environment)
        guard kind.read(node, key, &trial) != nil else {
            return "write [A, B]; each item must be \(kind.expected)"
        }
        return "write [\(YAMLNode.text(text.shortened).inline)]"
    }

    /// An alias causes an error that proposes the valid word.
    static func choice(aliases: [String: String] = [:]) -> SettingsKind
    where Value: RawRepresentable<String> & CaseIterable & Hashable {
        let words = Value.allCases.map(\.rawValue)
        // Uses `reduce`, because the first call of `joined` looks up conformances, which takes 0.15
        // ms.
        let list = words.dropFirst().reduce("`\(words[0])`") { $0 + ", `\($1)`" }
        let expected = words.count == 1 ? list : "one of " + list
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard let text = node.scalar, let value = Value(rawValue: text) else {
                    let hint = node.scalar.flatMap { text in
                        aliases[text.lowercased()].map { "did you mean `\($0)`?" }
                            ?? DidYouMean.hint(for: text, among: words)
                    }
                    reading.reportMismatch(node, key, expected: expected, hint: hint)
                    return nil
                }
                return value
            },
            write: { .text($0.rawValue) },
            schema: SettingsSchema.words(words)
        )
    }
}
