// SPDX-License-Identifier: Apache-2.0

/// Data of an SOA record (RFC 1035 §3.3.13); times in seconds.
package struct SOA: Hashable, Sendable {
    /// MNAME.
    package var primary: Name

    /// RNAME.
    package var mailbox: Name

    package var serial: UInt32
    package var refresh: UInt32
    package var retry: UInt32
    package var expire: UInt32

    /// Maximum TTL of a negative answer (RFC 2308 §4, §5).
    package var minimum: UInt32

    package init(
        primary: Name,
        mailbox: Name,
        serial: UInt32,
        refresh: UInt32,
        retry: UInt32,
        expire: UInt32,
        minimum: UInt32
    ) {
        self.primary = primary
        self.mailbox = mailbox
        self.serial = serial
        self.refresh = refresh
        self.retry = retry
        self.expire = expire
        self.minimum = minimum
    }
}

// MARK: - Wire

extension SOA {
    init(parsing reader: inout WireReader) throws(WireError) {
        primary = try reader.name()
        mailbox = try reader.name()
        serial = try reader.uint32()
        refresh = try reader.uint32()
        retry = try reader.uint32()
        expire = try reader.uint32()
        minimum = try reader.uint32()
    }

    func appendNumbers(to octets: inout [UInt8]) {
        for number in [serial, refresh, retry, expire, minimum] {
            octets.append(bigEndian: number)
        }
    }
}

// MARK: - Conformances

extension SOA: CustomStringConvertible {
    /// Text as in zone files (RFC 1035 §5).
    package var description: String {
        "\(primary) \(mailbox) \(serial) \(refresh) \(retry) \(expire) \(minimum)"
    }
}
