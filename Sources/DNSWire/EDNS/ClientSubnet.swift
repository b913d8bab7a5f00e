// SPDX-License-Identifier: Apache-2.0

/// Content of a Client Subnet option (RFC 7871 §6).
package struct ClientSubnet: Hashable, Sendable {
    /// Address with zero bits after the source prefix; nil for family 0.
    package let address: IPAddress?

    package let sourcePrefixLength: UInt8

    /// Zero in queries.
    package let scopePrefixLength: UInt8

    /// Creates an option; nil if a length exceeds 32 (IPv4) or 128 (IPv6).
    package init?(_ address: IPAddress, sourcePrefixLength: UInt8, scopePrefixLength: UInt8 = 0) {
        let address = address.unmapped
        let width: UInt8 = if case .v4 = address { 32 } else { 128 }
        guard scopePrefixLength <= width,
            let prefix = IPPrefix(containing: address, length: Int(sourcePrefixLength))
        else { return nil }
        self.address = prefix.address
        self.sourcePrefixLength = sourcePrefixLength
        self.scopePrefixLength = scopePrefixLength
    }
}

// MARK: - Wire

extension ClientSubnet {
    /// Parses an option; family 0 has no address (`dig +subnet=0`).
    ///
    /// - Throws: `truncated` or `badOption`; the daemon then replies with FORMERR (RFC 7871 §6).
    init(parsing reader: inout WireReader) throws(WireError) {
        let start = reader.offset
        let family = try reader.uint16()
        sourcePrefixLength = try reader.uint8()
        scopePrefixLength = try reader.uint8()
        let count = (Int(sourcePrefixLength) + 7) / 8
        let width: Int
        switch family {
        case 0: width = 0
        case 1: width = 4
        case 2: width = 16
        default: throw .badOption(at: start)
        }
        guard count <= width, Int(scopePrefixLength) <= width * 8, reader.remaining == count else {
            throw .badOption(at: start)
        }
        let told = reader.rest()
        guard family != 0 else {
            address = nil
            return
        }
        let octets = told + [UInt8](repeating: 0, count: width - count)
        let spare = count * 8 - Int(sourcePrefixLength)
        guard let address = IPAddress(octets: octets), (told.last ?? 0) & ((1 << spare) - 1) == 0
        else { throw .badOption(at: start) }
        self.address = address
    }

    func append(to octets: inout [UInt8]) {
        let family: UInt16
        switch address {
        case .none: family = 0
        case .v4: family = 1
        case .v6: family = 2
        }
        octets.append(bigEndian: family)
        octets.append(sourcePrefixLength)
        octets.append(scopePrefixLength)
        let count = (Int(sourcePrefixLength) + 7) / 8
        octets.append(contentsOf: (address?.octets ?? []).prefix(count))
    }
}

// MARK: - Conformances

extension ClientSubnet: CustomStringConvertible {
    package var description: String {
        "\(address?.description ?? "0")/\(sourcePrefixLength)/\(scopePrefixLength)"
    }
}
