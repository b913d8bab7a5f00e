// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Who may ask: blocks of addresses, of which one must contain the asker's.
struct AccessList: Sendable {
    private let prefixes: [IPPrefix]

    /// A list of blocks; an empty one lets nobody in.
    init(_ prefixes: [IPPrefix]) {
        self.prefixes = prefixes
    }

    /// Whether the address of 4 or 16 octets may ask.
    func allows(_ octets: RawSpan) -> Bool {
        if octets.byteCount == 4 {
            let address = IPv4Address(value: octets.uint32(at: 0))
            for prefix in prefixes where prefix.contains(address) { return true }
            return false
        }
        let address = IPv6Address(
            high: octets.octets8(at: 0).byteSwapped,
            low: octets.octets8(at: 8).byteSwapped
        )
        for prefix in prefixes where prefix.contains(address) { return true }
        return false
    }
}
