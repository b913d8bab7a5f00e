// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Who may ask: blocks of addresses, of which one must contain the asker's.
struct AccessList: Sendable {
    private let prefixes: [IPPrefix]

    /// A list of blocks; an empty one lets nobody in.
    init(_ prefixes: [IPPrefix]) {
        self.prefixes = prefixes
    }

    /// Whether `address` may ask.
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
    /// The address of 4 or 16 octets in network order, as the kernel writes it.
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
