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
        do throws(NameTextError) {
            return try Name(text).lowercased
        } catch {
            throw Mismatch(message: "`\(String(text).shortened)` is no domain: \(error)")
        }
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
