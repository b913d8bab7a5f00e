// SPDX-License-Identifier: Apache-2.0

/// The data of an SOA record (RFC 1035 §3.3.13); all times in seconds.
package struct SOA: Hashable, Sendable {
    /// MNAME: the server the zone comes from.
    package var primary: Name

    /// RNAME: whom to write to, the first dot being an at sign.
    package var mailbox: Name

    /// SERIAL: the zone's version.
    package var serial: UInt32

    /// REFRESH: how often a secondary asks.
    package var refresh: UInt32

    /// RETRY: how soon it asks again after a failure.
    package var retry: UInt32

    /// EXPIRE: when it gives up.
    package var expire: UInt32

    /// MINIMUM: how long a denial may be kept, together with the record's TTL (RFC 2308 §4, §5).
    package var minimum: UInt32

    /// Makes the data of an SOA record.
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
    /// Reads the data at the reader's place.
    init(parsing reader: inout WireReader) throws(WireError) {
        primary = try reader.name()
        mailbox = try reader.name()
        serial = try reader.uint32()
        refresh = try reader.uint32()
        retry = try reader.uint32()
        expire = try reader.uint32()
        minimum = try reader.uint32()
    }

    /// Appends the five numbers that follow the names.
    func appendNumbers(to octets: inout [UInt8]) {
        for number in [serial, refresh, retry, expire, minimum] {
            octets.append(bigEndian: number)
        }
    }
}

// MARK: - Conformances

extension SOA: CustomStringConvertible {
    /// As in zone files (RFC 1035 §5).
    package var description: String {
        "\(primary) \(mailbox) \(serial) \(refresh) \(retry) \(expire) \(minimum)"
    }
}
