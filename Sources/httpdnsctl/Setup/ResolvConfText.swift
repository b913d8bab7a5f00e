// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// What resolv.conf(5) says, as glibc reads it.
struct ResolvConfText: Equatable, Sendable {
    /// Its servers, in order; glibc asks the first three.
    var nameservers: [String] = []

    /// The domains that are tried for short names; of several lines the last one counts.
    var search: [String] = []

    /// Its options, all lines together.
    var options: [String] = []

    /// Lines of other keywords, such as `sortlist`.
    var others: [String] = []

    /// How many servers glibc asks.
    static let maximumServers = 3

    /// Reads the file; comments and what cannot be read are passed over.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
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

    /// The file that names `servers` and keeps all else.
    ///
    /// `edns0` lets answers be larger than 512 octets; `trust-ad` lets programs see what a validating
    /// upstream vouches for, and is right only where nobody can stand between: on loopback.
    func pointing(at servers: [ServerAddress]) -> String {
        var options = options
        let wanted = servers.allSatisfy(\.address.isLoopback) ? ["edns0", "trust-ad"] : ["edns0"]
        for option in wanted where !options.contains(option) { options.append(option) }
        var lines = [
            "# Written by httpdnsctl setup; 'httpdnsctl setup revert' puts back what was here."
        ]
        lines += servers.prefix(Self.maximumServers).map { "nameserver \($0.address)" }
        if !search.isEmpty { lines.append("search " + search.joined(separator: " ")) }
        lines.append("options " + options.joined(separator: " "))
        return (lines + others).joined(separator: "\n") + "\n"
    }
}
