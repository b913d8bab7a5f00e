// SPDX-License-Identifier: Apache-2.0

/// Manual of the settings: a valid settings file with every option.
///
/// Options without a default are commented out.
package enum SettingsManual {
    package static var text: String {
        let entries = Settings.table.explain(Settings())
        let lines =
            comment(preamble, indent: 0)
            + entries.flatMap { [""] + render($0, indent: 0) }
        return lines.joined(separator: "\n") + "\n"
    }

    struct Entry: Sendable {
        var name: String
        var doc = ""
        var facts: String?
        var form: Form
        var isRequired = false

        /// Option that can replace this option; one of the two is required.
        var alternative: String?

        /// True if the section is `off` by default; the manual shows its options as an example.
        var isOff = false

        var schema = YAMLNode.map([])

        /// Default value; nil if the option has no fixed default.
        var standard: YAMLNode?
    }

    indirect enum Form: Sendable {
        case value(YAMLNode)
        case example(YAMLNode)
        case section([Entry])
        case named([Example])

        /// List; `live` is the default list, and the entries describe the options of one list item.
        case list(live: YAMLNode, [Entry])
    }

    struct Example: Sendable {
        var name: String
        var doc: String
        var entries: [Entry]

        /// All options; `entries` omits options that an earlier example of the manual describes.
        var allEntries: [Entry]
    }

    private static let preamble = """
        Settings of httpdnsd: every option with its default and description. This file is the \
        output of `httpdnsd --print-config`.

        httpdnsd.yaml(5) describes drop-ins: files in the directory httpdnsd.yaml.d that change or \
        add options.

        Editors can use httpdnsd.schema.json, the output of `httpdnsd --print-schema`.

        `httpdnsd --config FILE --check` reports all errors of a file. An absent option has its \
        default. To use a commented example, delete the value above the example, and remove the \
        `#` in front of the lines of the example. Durations and sizes have a unit (300ms, 2s, 10m, \
        1h, 1d; 512KiB, 64MiB, 1GiB). Servers have IP addresses, not names. A secret is in a file \
        that other users cannot read, or in a systemd credential; a newline at its end is ignored.
        """
}

// MARK: - Rendering

extension SettingsManual {
    private static func render(_ entry: Entry, indent: Int, inExample: Bool = false) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let about = comment(entry.doc, indent: indent) + comment(entry.sentence, indent: indent)
        switch entry.form {
        case .value(let value): return about + YAMLPrinter.lines(entry.name, value, indent: indent)
        case .example(let value):
            let lines = YAMLPrinter.lines(entry.name, value, indent: indent)
            return about + (inExample ? lines : commentedOut(lines))
        case .section(let entries):
            if entry.isOff {
                let body = render(entries, indent: indent + 2, inExample: true)
                let example = commentedOut(["\(margin)\(entry.name):"] + body)
                return about + (inExample ? [] : ["\(margin)\(entry.name): off"]) + example
            }
            let body = render(entries, indent: indent + 2, inExample: inExample)
            return body.isEmpty ? [] : about + ["\(margin)\(entry.name):"] + body
        case .named(let examples):
            let bodies = examples.map { example in
                comment(example.doc, indent: 2) + ["  \(example.name):"]
                    + render(example.entries, indent: 4, inExample: true)
            }
            return about + ["\(entry.name): {}"]
                + commentedOut(["\(entry.name):"] + bodies.joined(separator: [""]))
        case .list(let live, let entries):
            let body = render(entries, indent: 4, inExample: true)
            return about + YAMLPrinter.lines(entry.name, live)
                + commentedOut(["\(entry.name):"] + YAMLPrinter.dashed(body, indent: 2))
        }
    }

    private static func render(_ entries: [Entry], indent: Int, inExample: Bool) -> [String] {
        let parts = entries.map { render($0, indent: indent, inExample: inExample) }
        return Array(parts.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private static func commentedOut(_ lines: [String]) -> [String] { lines.map { "#" + $0 } }

    private static func comment(_ text: String, indent: Int) -> [String] {
        guard !text.isEmpty else { return [] }
        let margin = String(repeating: " ", count: indent) + "#"
        let paragraphs = text.split(separator: "\n", omittingEmptySubsequences: false)
        return paragraphs.flatMap { paragraph in
            let words = paragraph.split(separator: " ")
            var lines = [margin]
            for word in words {
                if lines[lines.count - 1].count + 1 + word.count > 90 { lines.append(margin) }
                lines[lines.count - 1] += " " + word
            }
            return lines
        }
    }
}

extension SettingsManual.Entry {
    var sentence: String {
        guard let facts, let first = facts.first else { return "" }
        return first.uppercased() + facts.dropFirst() + "."
    }
}

// MARK: - The effective settings

extension Settings {
    /// Effective settings as a settings file, with the sources of secrets instead of secrets.
    package var effectiveText: String {
        var text = ""
        write(to: &text, limit: .max) { $0 }
        return text
    }

    /// Returns the effective settings without the parameter values of URLs, which may be secret.
    ///
    /// - Returns: nil if the text has more than `limit` octets.
    package func shownText(limit: Int) -> String? {
        var text = ""
        write(to: &text, limit: limit, \.redacted)
        return text.utf8.count <= limit ? text : nil
    }

    /// Converts only one route at a time into a tree, because 100,000 trees take 300 MiB.
    private func write(to text: inout String, limit: Int, _ shown: (YAMLNode) -> YAMLNode) {
        text += "# Effective settings of httpdnsd.\n"
        for option in Self.table.options {
            if option.name == YAMLReader.longList, !routes.isEmpty {
                text += "\(option.name):\n"
                for route in routes where text.utf8.count <= limit {
                    let item = YAMLNode.list([shown(RouteSettings.table.write(route))])
                    for line in YAMLPrinter.block(item, indent: 2) { text += line + "\n" }
                }
            } else if let value = option.write(self) {
                for line in YAMLPrinter.lines(option.name, shown(value)) { text += line + "\n" }
            }
            guard text.utf8.count <= limit else { return }
        }
    }
}
