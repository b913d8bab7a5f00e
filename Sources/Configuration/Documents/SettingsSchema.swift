// SPDX-License-Identifier: Apache-2.0

/// JSON Schema of the settings, for editors.
///
/// The schema checks no references, conflicts or secrets, and no ranges of durations and sizes.
package enum SettingsSchema {
    package static var text: String {
        let head = YAMLNode.map([
            ("$schema", .text("http://json-schema.org/draft-07/schema#")),
            ("title", .text("httpdnsd.yaml")),
            ("description", .text("Settings of httpdnsd. `httpdnsd --check` finds more errors.")),
        ])
        let settings = object(of: Settings.table.explain(Settings()))
        return JSONText.lines(joined(head, settings)).joined(separator: "\n") + "\n"
    }

    private static func object(of entries: [SettingsManual.Entry]) -> YAMLNode {
        let all = object(
            entries.filter { !$0.doc.isEmpty }.map { ($0.name, schema(of: $0)) },
            required: entries.filter(\.isRequired).map(\.name)
        )
        guard let entry = entries.first(where: { $0.alternative != nil }) else { return all }
        let choices = [entry.name, entry.alternative ?? ""].map { name in
            YAMLNode.map([("required", .list([.text(name)]))])
        }
        return joined(all, .map([("anyOf", .list(choices))]))
    }

    private static func schema(of entry: SettingsManual.Entry) -> YAMLNode {
        var about: [(String, YAMLNode)] = [("description", .text(entry.doc))]
        if let standard = entry.standard { about.append(("default", standard.typed)) }
        return joined(.map(about), value(of: entry))
    }

    private static func value(of entry: SettingsManual.Entry) -> YAMLNode {
        if case .named(let examples) = entry.form { return named(examples) }
        if case .list(_, let entries) = entry.form {
            return list(of: object(of: entries), count: 0...(.max))
        }
        guard case .section(let entries) = entry.form else { return entry.schema }
        // Only a section that can be `off` has `facts`.
        guard entry.facts != nil else { return object(of: entries) }
        let on = entries.contains(where: \.isRequired) ? [] : ["true", "on"]
        return either(object(of: entries), words(["false", "off"] + on))
    }

    private static func named(_ examples: [SettingsManual.Example]) -> YAMLNode {
        let kinds = examples.map { example in
            YAMLNode.map([
                (
                    "if",
                    .map([
                        ("properties", .map([("kind", words([example.name]))])),
                        ("required", .list([.text("kind")])),
                    ])
                ),
                ("then", object(of: example.allEntries)),
            ])
        }
        let entry = YAMLNode.map([
            ("type", .text("object")),
            ("required", .list([.text("kind")])),
            ("properties", .map([("kind", words(examples.map(\.name)))])),
            ("allOf", .list(kinds)),
        ])
        return .map([
            ("type", .text("object")),
            ("propertyNames", .map([("pattern", .text(EntryName.pattern))])),
            ("additionalProperties", entry),
        ])
    }
}

// MARK: - Forms of values

extension SettingsSchema {
    static func string(_ pattern: String? = nil, longest: Int? = nil) -> YAMLNode {
        .map(
            [("type", .text("string"))]
                + (pattern.map { [("pattern", .text($0))] } ?? [])
                + (longest.map { [("maxLength", .word("\($0)"))] } ?? [])
        )
    }

    static func number(_ range: ClosedRange<Int>, pattern: String) -> YAMLNode {
        .map(
            [
                ("type", .list([.text("integer"), .text("string")])),
                ("minimum", .word("\(range.lowerBound)")),
            ] + (range.upperBound == .max ? [] : [("maximum", .word("\(range.upperBound)"))])
                + [("pattern", .text(pattern))]
        )
    }

    static func decimal(maximum: Int, pattern: String) -> YAMLNode {
        .map([
            ("type", .list([.text("number"), .text("string")])),
            ("minimum", .word("0")),
            ("maximum", .word("\(maximum)")),
            ("pattern", .text(pattern)),
        ])
    }

    /// Returns a schema that accepts `words` as texts and as YAML values.
    ///
    /// Editors read an unquoted word such as `1.1` as a number.
    static func words(_ words: [String]) -> YAMLNode {
        .map([
            ("enum", .list(words.map { .text($0) } + words.map(YAMLNode.word).filter(\.isTyped)))
        ])
    }

    static func list(of item: YAMLNode, count: ClosedRange<Int>) -> YAMLNode {
        .map(
            [("type", .text("array")), ("items", item)]
                + (count.lowerBound == 0 ? [] : [("minItems", .word("\(count.lowerBound)"))])
                + (count.upperBound == .max ? [] : [("maxItems", .word("\(count.upperBound)"))])
        )
    }

    static func object(_ properties: [(String, YAMLNode)], required: [String] = []) -> YAMLNode {
        .map(
            [
                ("type", .text("object")), ("properties", .map(properties)),
                ("additionalProperties", .word("false")),
            ] + (required.isEmpty ? [] : [("required", .list(required.map { .text($0) }))])
        )
    }

    static func map(of value: YAMLNode) -> YAMLNode {
        .map([("type", .text("object")), ("additionalProperties", value)])
    }

    static func either(_ forms: YAMLNode...) -> YAMLNode {
        .map([("anyOf", .list(forms.map { $0.isTyped ? .map([("const", $0)]) : $0 }))])
    }

    static let interface = #"(%[^\]/:% ]{1,15})?"#

    static let address = string(
        "^([0-9.]+(:[0-9]{1,5})?|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\(interface)"
            + #"|\[[0-9A-Fa-f:.]+\#(interface)\](:[0-9]{1,5})?)$"#
    )

    static let group = number(0...(.max), pattern: "^[^: /]{1,32}$")
    static let secret = joined(
        object([("file", string("^/")), ("credential", string(EntryName.pattern))]),
        .map([("minProperties", .word("1")), ("maxProperties", .word("1"))])
    )

    static let parameters = joined(
        map(of: .map([("type", .list(["string", "number", "boolean"].map { .text($0) }))])),
        .map([("maxProperties", .word("\(SettingsLimits.parameters.upperBound)"))])
    )

    private static func joined(_ first: YAMLNode, _ second: YAMLNode) -> YAMLNode {
        guard case .mapping(let left) = first.content, case .mapping(let right) = second.content
        else { preconditionFailure("schemas are mappings") }
        return YAMLNode(content: .mapping(left + right))
    }
}
