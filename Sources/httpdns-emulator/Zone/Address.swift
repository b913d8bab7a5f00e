// SPDX-License-Identifier: Apache-2.0
import Glibc

enum Family: String, Sendable {
    case v4 = "A"
    case v6 = "AAAA"
}

/// IP address with its original text, which need not be canonical (RFC 5952).
struct Address: Sendable, Equatable {
    let text: String
    let octets: [UInt8]
    var family: Family { octets.count == 4 ? .v4 : .v6 }

    /// Parses an address (`inet_pton(3)`); a zone index or a form such as `127.1` is invalid.
    init?(_ text: String) {
        let version = text.contains(":") ? AF_INET6 : AF_INET
        var octets = [UInt8](repeating: 0, count: version == AF_INET6 ? 16 : 4)
        // SAFETY: inet_pton writes 4 octets for IPv4 and 16 for IPv6, which is the array's length.
        guard unsafe inet_pton(version, text, &octets) == 1 else { return nil }
        self.text = text
        self.octets = octets
    }
}

struct Subnet: Sendable, Equatable {
    /// Address in the subnet; the host bits need not be zero.
    let address: Address

    let length: Int

    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = Address(String(parts[0])),
            let length = Int(parts[1]), (0...address.octets.count * 8).contains(length)
        else { return nil }
        self.address = address
        self.length = length
    }

    func contains(_ other: Address) -> Bool {
        guard other.family == address.family else { return false }
        return (0..<length).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return (other.octets[bit / 8] ^ address.octets[bit / 8]) & mask == 0
        }
    }
}

struct Endpoint: Sendable, Equatable {
    let address: Address

    /// Port; with 0, the kernel chooses one.
    let port: UInt16

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = String(text[..<colon])
        let bracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if bracketed { host = String(host.dropFirst().dropLast()) }
        guard let address = Address(host), (address.family == .v6) == bracketed else { return nil }
        self.address = address
        self.port = port
    }
}
