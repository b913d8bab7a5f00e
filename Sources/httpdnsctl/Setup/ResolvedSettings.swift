// SPDX-License-Identifier: Apache-2.0

/// Settings files of systemd-resolved.
struct ResolvedSettings: Equatable, Sendable {
    private(set) var servers: [String] = []
    private(set) var domains: [String] = []

    /// Last assignment of each setting except `DNS` and `Domains`.
    private var values: [String: String] = [:]

    /// Drop-ins that systemd reads after the drop-in of setup, and that override this drop-in.
    private(set) var later: [String] = []

    private static let directories = ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map {
        $0 + "/systemd/"
    }

    private static let ofSetup: Set = ["DNS", "FallbackDNS", "Domains", "DNSOverTLS"]
    init(_ text: String = "") { add(text) }

    /// Reads the main file, then the drop-ins in the order of their names, as systemd does.
    init(of tree: FileTree, without ignored: Set<String>) {
        let main = Self.directories.map { $0 + "resolved.conf" }.lazy.compactMap(tree.text).first
        add(main ?? "")
        var paths: [String: String] = [:]
        for directory in Self.directories.map({ $0 + "resolved.conf.d" }) {
            for name in tree.names(in: directory) where name.hasSuffix(".conf") {
                let path = directory + "/" + name
                if paths[name] == nil, !ignored.contains(path) { paths[name] = path }
            }
        }
        let own = ResolverFacts.Paths.resolvedDropIn.split(separator: "/").last ?? ""
        for (name, path) in paths.sorted(by: { $0.key < $1.key }) {
            let text = tree.text(path) ?? ""
            add(text)
            let keys = Self.assignments(in: text).map(\.key)
            if name > own, !Self.ofSetup.isDisjoint(with: keys) { later.append(path) }
        }
    }

    var dnssec: String? { values["DNSSEC"] }

    var requiresTLS: Bool { values["DNSOverTLS"].map(Self.isYes) ?? false }

    var overTLS: String? {
        values["DNSOverTLS"].flatMap { requiresTLS || $0 == "opportunistic" ? $0 : nil }
    }

    var requiresDNSSEC: Bool { dnssec.map(Self.isYes) ?? false }

    private mutating func add(_ text: String) {
        for (key, value) in Self.assignments(in: text) {
            let words = value.split(whereSeparator: \.isWhitespace).map(String.init)
            switch key {
            // An empty assignment removes earlier values.
            case "DNS": servers = words.isEmpty ? [] : servers + words
            case "Domains": domains = words.isEmpty ? [] : domains + words
            default: values[key] = value
            }
        }
    }

    private static func assignments(in text: String) -> [(key: String, value: String)] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let line = trimmed(line)
            guard let sign = line.firstIndex(of: "="), line.first != "#", line.first != ";" else {
                return nil
            }
            let value = line[line.index(after: sign)...]
            return (String(trimmed(line[..<sign])), String(trimmed(value)))
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    private static func isYes(_ value: String) -> Bool {
        ["yes", "true", "on", "1", "y", "t"].contains(value.lowercased())
    }
}
