// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct HTTPURL: Sendable, Hashable {
    let origin: Origin

    let port: UInt16

    let path: String

    let query: String

    init?(_ text: String) {
        let isPrintable = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPrintable, (1...VendorLimits.maximumURL).contains(text.utf8.count),
            !text.contains("#"), !text.contains("\\")
        else { return nil }
        let isTLS = text.hasPrefix("https://")
        guard isTLS || text.hasPrefix("http://") else { return nil }
        let rest = text.dropFirst(isTLS ? 8 : 7)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let pathAndQuery = rest[authority.endIndex...].split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let path = pathAndQuery.first.map(String.init) ?? ""
        self.path = path.isEmpty ? "/" : path
        query = pathAndQuery.count == 2 ? String(pathAndQuery[1]) : ""

        var host = authority
        var port = UInt16(isTLS ? 443 : 80)
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            host = authority[..<colon]
            let digits = authority[authority.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(digits), number != 0
            else { return nil }
            port = number
        }
        guard let host = Self.host(String(host)) else { return nil }
        origin = isTLS ? .https(name: host) : .http(name: host)
        self.port = port
    }

    static func host(_ text: String) -> String? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]") && text.utf8.count > 2
        let literal = isBracketed ? String(text.dropFirst().dropLast()) : text
        switch IPAddress(literal) {
        case .v6: return "[\(literal)]"
        case .v4 where !isBracketed: return literal
        case .v4: return nil
        case nil:
            guard !isBracketed, let name = try? Name(text), name.isHostname else { return nil }
            return name.text
        }
    }
}
