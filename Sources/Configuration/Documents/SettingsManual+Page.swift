// SPDX-License-Identifier: Apache-2.0

extension SettingsManual {
    /// Descriptions of all options in mdoc(7), for httpdnsd.yaml(5).
    package static var pageText: String {
        let entries = Settings.table.explain(Settings())
        let sections = entries.filter { !$0.isValue }.flatMap(section)
        let lines = [".Ss Top level"] + list(entries.map(\.summary)) + sections
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(_ entry: Entry) -> [String] {
        let title = ".Ss \(entry.name.prefix(1).uppercased() + entry.name.dropFirst())"
        switch entry.form {
        case .value, .example: return []
        case .section(let entries), .list(_, let entries):
            return [title] + text(entry.doc) + list(entries)
        case .named(let examples):
            let kinds = examples.flatMap { example in
                [".Ss Example of \(entry.name): \(example.name)"] + text(example.doc)
                    + list(example.entries)
            }
            return [title] + text(entry.doc) + kinds
        }
    }

    private static func list(_ entries: [Entry]) -> [String] {
        guard !entries.isEmpty else { return [] }
        let items = entries.flatMap { entry -> [String] in
            let below: [String] =
                switch entry.form {
                case .value, .example: []
                case .section(let entries), .list(_, let entries): list(entries)
                case .named(let examples): examples.flatMap { list($0.entries) }
                }
            return [".It Ic \(entry.name)"] + text(entry.doc) + text(entry.sentence) + below
        }
        return [".Bl -tag -width Ds"] + items + [".El"]
    }

    private static func text(_ text: String) -> [String] {
        let paragraphs = text.split(separator: "\n").map { paragraph in
            paragraph.replacing("\\", with: "\\e").replacing(". ", with: ".\n")
                .split(separator: "\n")
                .map { line in bold(line.first == "." || line.first == "'" ? "\\&" + line : line) }
        }
        return Array(paragraphs.joined(separator: [".Pp"]))
    }

    private static func bold(_ line: Substring) -> String {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset % 2 == 1 ? "\\fB\($0.element)\\fR" : $0.element }
            .joined()
    }
}

extension SettingsManual.Entry {
    fileprivate var isValue: Bool {
        switch form {
        case .value, .example: true
        case .section, .named, .list: false
        }
    }

    fileprivate var summary: SettingsManual.Entry {
        guard !isValue else { return self }
        var summary = self
        summary.form = .section([])
        summary.facts = nil
        summary.doc = "See the section below."
        return summary
    }
}
