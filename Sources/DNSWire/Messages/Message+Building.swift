// SPDX-License-Identifier: Apache-2.0

// MARK: - Writing

extension Message {
    /// Encodes the message in at most `limit` octets (12...65535).
    ///
    /// The first record set that does not fit and all later sets are omitted. TC is set if a record
    /// of the answer or authority section is missing (RFC 2181 §9). OPT stays (RFC 6891 §7), but
    /// without its options if these do not fit.
    package func encoded(limit: Int = WireLimits.messageOctets) -> [UInt8] {
        if let whole = try? encodedWhole(limit: limit) { return whole }
        var builder = MessageBuilder(header: header, limit: limit)
        let opt = Self.reserveOPT(edns, in: &builder)
        var isTruncated = false
        do throws(BuildError) {
            for question in questions { try builder.append(question) }
            try Self.append(sets: answers, to: .answer, of: &builder)
            try Self.append(sets: authorities, to: .authority, of: &builder)
        } catch {
            isTruncated = true
        }
        if !isTruncated { try? Self.append(sets: additionals, to: .additional, of: &builder) }
        if let opt { try? builder.append(opt) }
        builder.header.isTruncated = builder.header.isTruncated || isTruncated
        return builder.finish()
    }

    private func encodedWhole(limit: Int) throws(BuildError) -> [UInt8] {
        var builder = MessageBuilder(header: header, limit: limit)
        for question in questions { try builder.append(question) }
        for record in answers { try builder.append(record, to: .answer) }
        for record in authorities { try builder.append(record, to: .authority) }
        for record in additionals { try builder.append(record, to: .additional) }
        if let edns { try builder.append(edns) }
        return builder.finish()
    }

    /// Reserves space for OPT; returns `edns`, without options if they do not fit.
    private static func reserveOPT(_ edns: EDNS?, in builder: inout MessageBuilder) -> EDNS? {
        guard var opt = edns else { return nil }
        if (try? builder.reserve(opt.octets.count)) != nil { return opt }
        opt.options = []
        return (try? builder.reserve(opt.octets.count)) == nil ? nil : opt
    }

    /// Appends record sets; throws at the first set that does not fit.
    private static func append(
        sets records: [Record],
        to section: Section,
        of builder: inout MessageBuilder
    ) throws(BuildError) {
        for set in records.recordSets {
            let mark = builder.mark
            do throws(BuildError) {
                for record in set { try builder.append(record, to: section) }
            } catch {
                builder.rewind(to: mark)
                throw error
            }
        }
    }
}
