// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension Name {
    /// Creates the owner of PTR records (RFC 1035 §3.5, RFC 3596 §2.5); `address` may be
    /// IPv4-mapped.
    package init(reverseOf address: IPAddress) {
        var wire: [UInt8] = []
        switch address.unmapped {
        case .v4(let address):
            for octet in address.octets.reversed() {
                let digits = String(octet).utf8
                wire.append(UInt8(digits.count))
                wire.append(contentsOf: digits)
            }
            wire.append(contentsOf: "\u{7}in-addr\u{4}arpa\u{0}".utf8)
        case .v6(let address):
            let digits = Array("0123456789abcdef".utf8)
            for octet in address.octets.reversed() {
                wire += [1, digits[Int(octet & 0xF)], 1, digits[Int(octet >> 4)]]
            }
            wire.append(contentsOf: "\u{3}ip6\u{4}arpa\u{0}".utf8)
        }
        self.init(checked: wire)
    }
}
