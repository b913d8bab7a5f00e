// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// What a route says about names: a domain with all below it, one name, or only what is below.
package struct DomainPattern: Sendable, Hashable {
    /// The three forms, as they are written.
    package enum Form: Sendable, Hashable {
        /// `example.com`: the domain and everything below it.
        case suffix

        /// `=example.com`: this name only.
        case exact

        /// `*.example.com`: everything below, but not the domain itself.
        case below
    }

    package let form: Form

    /// The domain, in lower case.
    package let domain: Name

    package init(_ form: Form, _ domain: Name) {
        self.form = form
        self.domain = domain
    }
}

// MARK: - Text

extension DomainPattern: CustomStringConvertible {
    /// Reads a pattern as it is written in a route.
    init(reading text: String) throws(Mismatch) {
        let name: Substring
        if text.hasPrefix("=") {
            form = .exact
            name = text.dropFirst()
        } else if text.hasPrefix("*.") {
            form = .below
            name = text.count == 2 ? "." : text.dropFirst(2)
        } else if text == "*" {
            throw Mismatch(hint: "every name is `.`")
        } else if text.hasPrefix(".") && text.count > 1 {
            throw Mismatch(hint: "did you mean \"*\(text.shortened)\"?")
        } else {
            form = .suffix
            name = text[...]
        }
        domain = try Self.domain(name)
    }

    package var description: String {
        switch form {
        case .suffix: domain.text
        case .exact: "=\(domain.text)"
        case .below: domain.isRoot ? "*." : "*.\(domain.text)"
        }
    }

    /// Reads a domain name (RFC 1035 §2.3.4); all of its characters must be ASCII.
    private static func domain(_ text: Substring) throws(Mismatch) -> Name {
        if text.utf8.contains(UInt8(ascii: "*")) {
            throw Mismatch(
                message: "`\(String(text).shortened)` has its `*` in the wrong place",
                hint: "only a leading \"*.\" is known, and `example.com` includes what is below it"
            )
        }
        let name: Name
        do throws(NameTextError) {
            name = try Name(text).lowercased
        } catch {
            throw Mismatch(message: "`\(String(text).shortened)` is no domain: \(error)")
        }
        if let hint = mistake(in: String(text), name) {
            throw Mismatch(message: "`\(String(text).shortened)` is no domain", hint: hint)
        }
        return name
    }

    /// Returns the zone of reverse look-ups for the network in `text`, cut to whole labels.
    private static func reverseZone(of ip: IPAddress, in text: String) -> String {
        let labels = Name(reverseOf: ip).text.split(separator: ".")
        let isIPv4 = labels.count == 6
        let length = text.split(separator: "/").dropFirst().first.flatMap { Int($0) }
        let most = labels.count - 2
        let kept = length.map { max(1, min(most, $0 / (isIPv4 ? 8 : 4))) } ?? most
        return labels.dropFirst(most - kept).joined(separator: ".")
    }

    /// Returns a hint if the text is something else than a domain, such as a URL or a network.
    ///
    /// The DNS allows any octet in a name.  Such a name would match no query, and a route for it would
    /// be lost without a word; an octet that is meant can be written as `\DDD`.  A slash stands in
    /// names of delegated reverse zones, such as `0/25.2.0.192.in-addr.arpa`.
    private static func mistake(in text: String, _ name: Name) -> String? {
        if let end = text.firstRange(of: "://") {
            let host = text[end.upperBound...].prefix { !"/:?#".contains($0) }
            return "write the host of the URL: `\(String(host).shortened)`"
        }
        if text.contains(",") {
            return "write the domains as items of a list: [a.example, b.example]"
        }
        let address = text.prefix { $0 != "/" }
        if let ip = IPAddress(String(address)) {
            return "names of addresses are written as `\(reverseZone(of: ip, in: text))`"
        }
        if text.contains(":") {
            return "a route is for all ports: `\(String(text.prefix { $0 != ":" }).shortened)`"
        }
        if text.contains("/"), !name.text.hasSuffix(".arpa") {
            let host = text.split(separator: "/").first ?? ""
            return "a domain has no path: `\(String(host).shortened)`"
        }
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if !(scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                || "-_./".unicodeScalars.contains(scalar))
            {
                return "`\(scalar)` stands in no host name; if it is meant, write it as \\DDD"
            }
        }
        return nil
    }

}

// MARK: - Sets of names

extension DomainPattern {
    /// Whether one of `patterns` matches every name that this pattern matches.
    ///
    /// Walks up the tree of names, so its cost does not depend on the number of patterns.
    func isCovered(byAnyOf patterns: Set<DomainPattern>) -> Bool {
        let own: [Form] =
            switch form {
            case .suffix: [.suffix]
            case .exact: [.suffix, .exact]
            case .below: [.suffix, .below]
            }
        if own.contains(where: { patterns.contains(DomainPattern($0, domain)) }) { return true }
        var ancestor = domain.parent
        while let name = ancestor {
            if patterns.contains(DomainPattern(.suffix, name))
                || patterns.contains(DomainPattern(.below, name))
            {
                return true
            }
            ancestor = name.parent
        }
        return false
    }
}

// MARK: - Literals in this program

extension DomainPattern {
    /// Makes a pattern of a literal; traps if it is none.
    init(literal: String) {
        do throws(Mismatch) {
            try self.init(reading: literal)
        } catch {
            preconditionFailure("`\(literal)` is no pattern of domains")
        }
    }
}
