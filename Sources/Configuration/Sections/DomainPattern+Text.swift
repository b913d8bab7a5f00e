// SPDX-License-Identifier: Apache-2.0
package import DNSWire

extension DomainPattern {
    init(reading text: String) throws(Mismatch) {
        if text.hasPrefix("=") {
            self = .exact(try Self.domain(text.dropFirst(), of: text))
        } else if text == "*" || text == "*." {
            throw Mismatch(hint: "use `.` for every name")
        } else if text.hasPrefix("*.") {
            self = .below(try Self.domain(text.dropFirst(2), of: text))
        } else if text.hasPrefix(".") && text.count > 1 {
            throw Mismatch(hint: "did you mean \"*\(text.shortened)\"?")
        } else {
            self = .suffix(try Self.domain(text[...], of: text))
        }
    }

    /// Parses an ASCII name (RFC 1035 §2.3.4).
    private static func domain(_ text: Substring, of pattern: String) throws(Mismatch) -> Name {
        if text.utf8.contains(UInt8(ascii: "*")) {
            throw Mismatch(
                message: "`\(pattern.shortened)` has a `*` in the wrong place",
                hint: "only a leading \"*.\" is allowed; `example.com` includes all names below it"
            )
        }
        let name: Name
        do throws(NameTextError) {
            name = try Name(text).lowercased
        } catch {
            throw mismatch(of: text, of: pattern, error)
        }
        if let hint = mistake(in: String(text), name) {
            throw Mismatch(message: "`\(pattern.shortened)` is not a domain", hint: hint)
        }
        return name
    }

    private static func mismatch(
        of text: Substring,
        of pattern: String,
        _ error: NameTextError
    ) -> Mismatch {
        if case .unescaped = error, text.contains(" ") {
            return Mismatch(
                message: "`\(pattern.shortened)` is not a domain: it contains a space",
                hint: "remove the space, or write a list of domains: [a.example, b.example]"
            )
        }
        return Mismatch(message: "`\(pattern.shortened)` is not a domain: \(error)")
    }

    private static func reverseZone(of ip: IPAddress, in text: String) -> String {
        let labels = Name(reverseOf: ip).text.split(separator: ".")
        let isIPv4 = labels.count == 6
        let length = text.split(separator: "/").dropFirst().first.flatMap { Int($0) }
        let most = labels.count - 2
        let kept = length.map { max(1, min(most, $0 / (isIPv4 ? 8 : 4))) } ?? most
        return labels.dropFirst(most - kept).joined(separator: ".")
    }

    /// Returns a hint if the text is not a domain name.
    ///
    /// A slash is valid in the name of a delegated reverse zone, such as
    /// `0/25.2.0.192.in-addr.arpa`.
    private static func mistake(in text: String, _ name: Name) -> String? {
        // Counts octets, because `Character.isLetter` takes 10 times as long.
        let letters = text.utf8.count { $0.isLetter }
        let others = text.utf8.count {
            $0.isDigit || $0 == UInt8(ascii: "_") || (UInt8(ascii: "-")...UInt8(ascii: ".")) ~= $0
        }
        if letters > 0, letters + others == text.utf8.count { return nil }
        if let end = text.firstRange(of: "://") {
            let host = text[end.upperBound...].prefix { !"/:?#".contains($0) }
            return "write only the host of the URL: `\(String(host).shortened)`"
        }
        if text.contains(",") { return "write a list of domains: [a.example, b.example]" }
        let address = text.prefix { $0 != "/" }
        if let ip = IPAddress(String(address)) {
            return "for reverse names, write `\(reverseZone(of: ip, in: text))`"
        }
        if let colon = text.firstIndex(of: ":") {
            return hint(before: text[..<colon], after: text[text.index(after: colon)...])
        }
        if text.contains("/"), !name.text.hasSuffix(".arpa") {
            let host = text.split(separator: "/").first ?? ""
            return "remove the path: `\(String(host).shortened)`"
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
                return "remove `\(scalar)`, or write it as \\DDD (the decimal value of the octet)"
            }
        }
        return nil
    }

    private static func hint(before prefix: Substring, after rest: Substring) -> String {
        guard rest.contains(where: { !$0.isNumber }) else {
            return "remove the port: `\(String(prefix).shortened)`"
        }
        let name = String(rest).shortened
        return switch prefix.lowercased() {
        case "full": "write `=\(name)` for this name only"
        case "keyword", "regexp", "regex":
            "write a domain, such as `example.com`; keywords and regexes are not supported"
        default: "write `\(name)`, which includes all names below it"
        }
    }
}

// MARK: - Sets of names

extension DomainPattern {
    /// Returns true if one of `patterns` matches every name of this pattern.
    func isCovered(byAnyOf patterns: Set<DomainPattern>) -> Bool {
        if patterns.contains(.suffix(domain)) || patterns.contains(self) { return true }
        var ancestor = domain.parent
        while let name = ancestor {
            if patterns.contains(.suffix(name)) || patterns.contains(.below(name)) { return true }
            ancestor = name.parent
        }
        return false
    }
}

// MARK: - Literals

extension DomainPattern {
    /// Traps if the literal is invalid.
    package init(literal: String) {
        do throws(Mismatch) {
            try self.init(reading: literal)
        } catch {
            preconditionFailure("`\(literal)` is not a domain pattern")
        }
    }
}
