// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The two kinds of addresses a vendor knows.
enum Family: String, Sendable {
    /// IPv4, record type A.
    case v4 = "A"
    /// IPv6, record type AAAA.
    case v6 = "AAAA"
}

/// An IP address that remembers how it was written.
///
/// The vendors' own documents print addresses that are not in canonical form (RFC 5952), so what
/// the zone file says is what is sent.
struct Address: Sendable, Equatable {
    /// The text as written.
    let text: String

    /// 4 or 16 octets, network order.
    let octets: [UInt8]

    /// What kind it is.
    var family: Family { octets.count == 4 ? .v4 : .v6 }

    /// Reads a numeric address, nil if it is none (`inet_pton(3)`; no zone index, no short forms).
    init?(_ text: String) {
        let version = text.contains(":") ? AF_INET6 : AF_INET
        var octets = [UInt8](repeating: 0, count: version == AF_INET6 ? 16 : 4)
        // SAFETY: inet_pton writes 4 or 16 octets by family, and the array has exactly as many.
        guard unsafe inet_pton(version, text, &octets) == 1 else { return nil }
        self.text = text
        self.octets = octets
    }
}

/// A range of addresses, as in `203.0.113.0/24`.
struct Subnet: Sendable, Equatable {
    /// Any address of the range.
    let address: Address

    /// Leading bits that all addresses of the range share: 0-32 or 0-128.
    let length: Int

    /// Reads `ADDRESS/LENGTH`, nil if it is not one.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = Address(String(parts[0])),
            let length = Int(parts[1]), (0...address.octets.count * 8).contains(length)
        else { return nil }
        self.address = address
        self.length = length
    }

    /// Whether the address is in the range.
    func contains(_ other: Address) -> Bool {
        guard other.family == address.family else { return false }
        return (0..<length).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return (other.octets[bit / 8] ^ address.octets[bit / 8]) & mask == 0
        }
    }
}

/// Where to listen: a numeric address and a port.
struct Endpoint: Sendable, Equatable {
    /// The address.
    let address: Address

    /// The port; 0 lets the kernel choose.
    let port: UInt16

    /// Reads `127.0.0.1:80` or `[::1]:80`, nil if it is neither.
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
