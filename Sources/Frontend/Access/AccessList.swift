// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct AccessList: Sendable {
    private let prefixes: [IPPrefix]

    /// Creates a list; an empty list denies every client.
    package init(_ prefixes: [IPPrefix]) {
        self.prefixes = prefixes
    }

    func allows(_ address: IPAddress) -> Bool {
        switch address {
        case .v4(let address):
            for prefix in prefixes where prefix.contains(address) { return true }
        case .v6(let address):
            for prefix in prefixes where prefix.contains(address) { return true }
        }
        return false
    }
}

extension IPAddress {
    init(_ octets: RawSpan) {
        if octets.byteCount == 4 {
            self = .v4(IPv4Address(value: octets.uint32(at: 0)))
        } else {
            self = .v6(
                IPv6Address(
                    high: octets.octets8(at: 0).byteSwapped,
                    low: octets.octets8(at: 8).byteSwapped
                )
            )
        }
    }
}
