// SPDX-License-Identifier: Apache-2.0

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

    /// The domain in lower case, without the dot of the root; the root itself is empty.
    package let domain: String

    package init(_ form: Form, _ domain: String) {
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
            name = text.dropFirst(2)
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
        let name = domain.isEmpty ? "." : domain
        return switch form {
        case .suffix: name
        case .exact: "=\(name)"
        case .below: "*.\(domain)"
        }
    }

    /// Checks that `text` is a domain name (RFC 1035 §2.3.4) of characters that hosts use.
    private static func domain(_ text: Substring) throws(Mismatch) -> String {
        if text == "." { return "" }
        let name = text.hasSuffix(".") ? text.dropLast() : text
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw Mismatch(
                message: "`\(String(text).shortened)` is not in ASCII",
                hint: "write the form that starts with `xn--` (RFC 5890)"
            )
        }
        if name.contains("*") {
            throw Mismatch(
                message: "`\(String(text).shortened)` has its `*` in the wrong place",
                hint: "only a leading \"*.\" is known, and `example.com` includes what is below it"
            )
        }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.utf8.count) }),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
        else { throw Mismatch() }
        return name.lowercased()
    }
}

// MARK: - Sets of names

extension DomainPattern {
    /// Whether every name that `other` matches is matched by this pattern too.
    func covers(_ other: DomainPattern) -> Bool {
        switch form {
        case .exact: other == self
        case .suffix: other.isEqualOrBelow(domain)
        case .below:
            other.isEqualOrBelow(domain) && (other.form == .below || other.domain != domain)
        }
    }

    private func isEqualOrBelow(_ ancestor: String) -> Bool {
        ancestor.isEmpty || domain == ancestor || domain.hasSuffix("." + ancestor)
    }
}
