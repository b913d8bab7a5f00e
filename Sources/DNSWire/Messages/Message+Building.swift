// SPDX-License-Identifier: Apache-2.0

// MARK: - Writing

extension Message {
    /// The message in wire form, of at most `limit` octets (12...65535).
    ///
    /// If not all fits, whole record sets are left out from the first that does not: of the answer
    /// and authority sections with TC set, of the additional section silently, as the rest of an
    /// answer is complete without it (RFC 2181 §9).  OPT stays in (RFC 6891 §7), without options if
    /// there is no room for them.
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
        if !isTruncated {
            // The first set that does not fit ends the section: what is left out is optional.
            try? Self.append(sets: additionals, to: .additional, of: &builder)
        }
        // Its room was reserved, so it is there.
        if let opt { try? builder.append(opt) }
        builder.header.isTruncated = builder.header.isTruncated || isTruncated
        return builder.finish()
    }

    /// Adds padding so that ``encoded(limit:)`` makes a multiple of `block` octets (RFC 8467 §4).
    ///
    /// Does nothing without EDNS.  Padding that is there already is replaced.
    package mutating func pad(toMultipleOf block: Int) {
        precondition(block > 0, "padding is to a multiple of something")
        guard edns != nil else { return }
        edns?.options.removeAll { $0.code == EDNSOption.Code.padding }
        // Code and length of the option are four octets.
        let bare = encoded().count + 4
        let count = (block - bare % block) % block
        guard bare + count <= WireLimits.messageOctets else { return }
        edns?.options.append(.padding(count: count))
    }

    /// The message with all its records in their order.
    private func encodedWhole(limit: Int) throws(BuildError) -> [UInt8] {
        var builder = MessageBuilder(header: header, limit: limit)
        for question in questions { try builder.append(question) }
        for record in answers { try builder.append(record, to: .answer) }
        for record in authorities { try builder.append(record, to: .authority) }
        for record in additionals { try builder.append(record, to: .additional) }
        if let edns { try builder.append(edns) }
        return builder.finish()
    }

    /// Keeps room for `edns`, or for as much of it as goes into an empty message.
    ///
    /// - Returns: what there is room for.
    private static func reserveOPT(_ edns: EDNS?, in builder: inout MessageBuilder) -> EDNS? {
        guard var opt = edns else { return nil }
        if (try? builder.reserve(opt.octets.count)) != nil { return opt }
        opt.options = []
        return (try? builder.reserve(opt.octets.count)) == nil ? nil : opt
    }

    /// Writes records set by set; the first set that does not fit leaves nothing and ends it.
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
