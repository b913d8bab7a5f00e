// SPDX-License-Identifier: Apache-2.0

/// The documented manual of the settings: every option, its default and what it is for.
///
/// It is a settings file itself, and loads as it is: what has no default is commented out.
package enum SettingsManual {
    /// The manual, which is also the file `config/httpdnsd.yaml`.
    package static var text: String {
        let entries = Settings.table.explain(Settings())
        let lines =
            comment(preamble, indent: 0)
            + entries.flatMap { [""] + render($0, indent: 0) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What the manual says about one option.
    struct Entry: Sendable {
        /// The key.
        var name: String

        /// The paragraph about it.
        var doc = ""

        /// What it may be, and its default.
        var facts: String?

        /// How it is shown.
        var form: Form

        /// Whether leaving it out is an error.
        var isRequired = false

        /// What a JSON Schema says of its value, if it is an option with one.
        var schema = YAMLNode.map([])

        /// The default, if it has one that is always the same.
        var standard: YAMLNode?
    }

    /// How an option is shown.
    indirect enum Form: Sendable {
        /// With a value, which is the default if it stands outside of an example.
        case value(YAMLNode)

        /// With a value that is an example only: by default there is none.
        case example(YAMLNode)

        /// With the options of its section.
        case section([Entry])

        /// With examples of its entries.
        case named([Example])

        /// With the entries in force, and an example of another.
        case list(live: YAMLNode, [Entry])
    }

    /// An entry with a name of its own, commented out.
    struct Example: Sendable {
        /// The key.
        var name: String

        /// The paragraph above it.
        var doc: String

        /// Its options.
        var entries: [Entry]

        /// All its options: those that another example explains, too.
        var allEntries: [Entry]
    }

    private static let preamble = """
        The settings of httpdnsd: every option with its default and what it is for. This file is \
        what `httpdnsd --print-config` prints.

        Files in the directory httpdnsd.yaml.d beside this file whose names end in .yaml are read after it, in \
        the order of their names. An option in a later file replaces the same option in those before, \
        a list of values as a whole. Entries are added: to vendors, routes, upstreams and \
        hosts.records. A vendor or upstream that is there already gets the options that the \
        later file names, a name in hosts.records other addresses; `routes: []` and \
        `upstreams: []` remove those of the files before.

        Editors check and explain what is typed by httpdnsd.schema.json, which \
        `httpdnsd --print-schema` prints.

        `httpdnsd --config FILE --check` names every mistake in a file at once. What is left out \
        has its default. To use a commented example, remove the `#` before its lines, and the value \
        that stands above it. Durations have a unit (300ms, 2s, 10m, 1h, 1d), and so have sizes (512KiB, \
        64MiB, 1GiB). Addresses are always IP addresses, never names: httpdnsd is what names would \
        be looked up with.
        """
}

// MARK: - Rendering

extension SettingsManual {
    /// An option as lines of the manual.
    private static func render(_ entry: Entry, indent: Int, inExample: Bool = false) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let about = comment(entry.doc, indent: indent) + comment(entry.sentence, indent: indent)
        switch entry.form {
        case .value(let value):
            return about + YAMLPrinter.lines(entry.name, value, indent: indent)
        case .example(let value):
            let lines = YAMLPrinter.lines(entry.name, value, indent: indent)
            return about + (inExample ? lines : commentedOut(lines))
        case .section(let entries):
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

    /// Options of a section, with a blank line between them.
    private static func render(_ entries: [Entry], indent: Int, inExample: Bool) -> [String] {
        let parts = entries.map { render($0, indent: indent, inExample: inExample) }
        return Array(parts.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    /// Lines that `#` takes out of force.
    private static func commentedOut(_ lines: [String]) -> [String] { lines.map { "#" + $0 } }

    /// Paragraphs as comment lines.
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
    /// The facts as a sentence.
    fileprivate var sentence: String {
        guard let facts, let first = facts.first else { return "" }
        return first.uppercased() + facts.dropFirst() + "."
    }
}

// MARK: - The effective settings

extension Settings {
    /// The settings as a file that gives the same settings again; secrets stay where they are.
    package var effectiveText: String {
        let lines = YAMLPrinter.block(Self.table.write(self), indent: 0)
        return (["# The effective settings of httpdnsd."] + lines).joined(separator: "\n") + "\n"
    }
}
