// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    var address: IPAddress
    var port: UInt16 = 53

    init(_ address: IPAddress, port: UInt16 = 53) {
        self.address = address
        self.port = port
    }

    /// Parses `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1` or `[2001:db8::1]:53`.
    init?(_ text: some StringProtocol) {
        if let address = IPAddress(text) {
            self.init(address)
        } else if let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), port > 0
        {
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
            guard let address = IPAddress(host) else { return nil }
            self.init(address, port: port)
        } else {
            return nil
        }
    }

    /// Address for local programs: a wildcard address becomes a loopback address.
    var local: ServerAddress {
        guard address.isUnspecified else { return self }
        let loopback: IPAddress =
            switch address {
            case .v4: .v4(IPv4Address(value: 0x7F00_0001))
            case .v6: .v6(IPv6Address(high: 0, low: 1))
            }
        return ServerAddress(loopback, port: port)
    }

    var isIPv6: Bool { if case .v6 = address { true } else { false } }

    var description: String {
        guard port != 53 else { return "\(address)" }
        return isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
