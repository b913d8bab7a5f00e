// SPDX-License-Identifier: Apache-2.0

/// The data of an SOA record (RFC 1035 §3.3.13); all times in seconds.
package struct SOA: Hashable, Sendable {
    /// MNAME: the primary server of the zone.
    package var primary: Name

    /// RNAME: the mailbox of the operator; the first dot stands for `@`.
    package var mailbox: Name

    /// SERIAL: the version of the zone.
    package var serial: UInt32

    /// REFRESH: the interval at which a secondary checks the zone.
    package var refresh: UInt32

    /// RETRY: the interval after a failed check.
    package var retry: UInt32

    /// EXPIRE: the time after which a secondary discards the zone.
    package var expire: UInt32

    /// MINIMUM: the maximum TTL of a negative answer, together with the TTL of this record (RFC
    /// 2308 §4, §5).
    package var minimum: UInt32

    /// Creates the data of an SOA record.
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

    /// Appends the five numbers after the names.
    func appendNumbers(to octets: inout [UInt8]) {
        for number in [serial, refresh, retry, expire, minimum] {
            octets.append(bigEndian: number)
        }
    }
}

// MARK: - Conformances

extension SOA: CustomStringConvertible {
    /// The data as in zone files (RFC 1035 §5).
    package var description: String {
        "\(primary) \(mailbox) \(serial) \(refresh) \(retry) \(expire) \(minimum)"
    }
}
