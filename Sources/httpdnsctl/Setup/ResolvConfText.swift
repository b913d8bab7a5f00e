// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Content of resolv.conf(5), parsed as glibc does.
struct ResolvConfText: Equatable, Sendable {
    var nameservers: [String] = []

    var search: [String] = []

    var options: [String] = []
    var others: [String] = []
    static let maximumServers = 3

    init(_ text: String) {
        // In Swift, "\r\n" is one character, so a file with CRLF has no "\n".
        for line in text.split(whereSeparator: \.isNewline) {
            guard let first = line.first, first != "#", first != ";" else { continue }
            let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
            guard words.count > 1 else { continue }
            let values = Array(
                words.dropFirst().prefix { !$0.hasPrefix("#") && !$0.hasPrefix(";") }
            )
            switch words[0] {
            case "nameserver": nameservers += values.prefix(1)
            case "search": search = values
            case "domain": search = Array(values.prefix(1))
            case "options": options += values
            default: others.append(words.joined(separator: " "))
            }
        }
    }

    /// Returns the options of resolv.conf for `servers`.
    ///
    /// `trust-ad` passes the AD bit to programs; it is added only for loopback servers, because
    /// their answers cannot be forged.
    static func options(for servers: [ServerAddress]) -> [String] {
        servers.allSatisfy(\.address.isLoopback) ? ["edns0", "trust-ad"] : ["edns0"]
    }

    func pointing(at servers: [ServerAddress]) -> String {
        var options = options
        for option in Self.options(for: servers) where !options.contains(option) {
            options.append(option)
        }
        let addresses = servers.prefix(Self.maximumServers).map { "\($0.address)" }
        // The daemon compares the comment with the nameservers, and so detects a changed file.
        return Self.text(
            [
                "# Written by httpdnsctl setup for " + addresses.joined(separator: " ")
                    + "; 'httpdnsctl setup revert' restores the old file."
            ],
            addresses,
            search,
            options,
            others
        )
    }

    func with(_ servers: [String]) -> String {
        Self.text([], servers, search, options, others)
    }

    func withDefaultServers(_ servers: [String]) -> String {
        Self.text(
            ["# Default of httpdnsctl, because the original is lost: set your own nameservers."],
            servers,
            search,
            options.filter { $0 != "trust-ad" },
            others
        )
    }

    private static func text(
        _ comments: [String],
        _ servers: [String],
        _ search: [String],
        _ options: [String],
        _ others: [String]
    ) -> String {
        var lines = comments + servers.map { "nameserver \($0)" }
        if !search.isEmpty { lines.append("search " + search.joined(separator: " ")) }
        if !options.isEmpty { lines.append("options " + options.joined(separator: " ")) }
        return (lines + others).joined(separator: "\n") + "\n"
    }
}
