// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// The grammar of Tencent's replies, after decryption.
///
/// ```
/// body   = [ record *( LF record ) [LF] ]
/// record = [ domain ["."] ":" ] answer [ "|" clientip ]
/// answer = family / family "-" family          ; the second form for type=addrs, IPv4 first
/// family = list [ "," ttl ]
/// list   = "" / "0" / ip *( ";" ip ) [";"]     ; "" and "0" mean none
/// ```
///
/// The vendor's pages, its two kits and the live service disagree on which parts are optional, so
/// over TLS all are.  In a sealed reply none is that the request asked for (`TencentReply+Sealed`).
///
/// The order of cutting is what makes it safe: the last `|` first, then the name, which
/// may contain `-`, at the first `:`, of which IPv6 has many; only then the families.
struct TencentReply {
    /// What was asked.
    private let lookup: Lookup

    /// Whether the text was encrypted without authentication.
    private let isSealed: Bool

    /// Prepares to read the reply to `lookup`.
    init(to lookup: Lookup, isSealed: Bool) {
        self.lookup = lookup
        self.isSealed = isSealed
    }

    /// Reads a whole body.
    ///
    /// Of several records about one name the first counts.  A name without record has no address:
    /// so the vendor treats names that are not registered with it.
    ///
    /// - Throws: `VendorError.wrongName`, or `.unreadable(.noRecord)` if there is text but nothing
    ///   in it that can be read.
    func answers(in body: ArraySlice<UInt8>) throws(VendorError) -> [VendorAnswer] {
        if isSealed { try Self.checkSealed(body) }
        var found = [VendorAnswer?](repeating: nil, count: lookup.names.count)
        for line in body.split(separator: UInt8(ascii: "\n")) {
            let line = line.trimmingTrailingSpace()
            guard !line.isEmpty else { continue }
            let (index, answer) = try record(in: line)
            if found[index] == nil { found[index] = answer }
        }

        let answers = zip(lookup.names, found).map { name, answer in
            answer ?? none(for: name)
        }
        // A name without record answers for its families, so this fails only for rubbish.
        guard answers.contains(where: { $0.v4 != nil || $0.v6 != nil }) else {
            throw .unreadable(.noRecord)
        }
        return answers
    }

    /// The answer of a vendor that has no address for `name`.
    private func none(for name: Name) -> VendorAnswer {
        VendorAnswer(
            name: name,
            v4: lookup.families.includesV4 ? AddressSet.none : nil,
            v6: lookup.families.includesV6 ? AddressSet.none : nil
        )
    }
}

// MARK: - Records

extension TencentReply {
    /// Reads one line, and tells which of the names it is about.
    private func record(
        in line: ArraySlice<UInt8>
    ) throws(VendorError) -> (index: Int, answer: VendorAnswer) {
        // The client's address is of no use to us and never trusted.
        let end = line.lastIndex(of: UInt8(ascii: "|")) ?? line.endIndex
        let text = line[..<end].trimmingTrailingSpace()

        if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            let prefix = text[..<colon]
            if let index = index(of: prefix) {
                let answer = answer(in: text[(colon + 1)...], about: index)
                guard !isSealed || answer.hasAll(lookup.families) else {
                    throw .unreadable(.incomplete)
                }
                return (index, answer)
            }
            guard beginsAddress(prefix) else {
                throw prefix.allSatisfy(Self.isInHostnames) ? .wrongName : .unreadable(.noRecord)
            }
        } else if let index = index(of: text) {
            // The vendor's page shows a bare name where it has no record for it.
            return (index, none(for: lookup.names[index]))
        }

        // Without a name a record can only be about the one that was asked, but who says so?
        guard !isSealed else { throw .unreadable(.incomplete) }
        guard lookup.names.count == 1 else { throw .unreadable(.noRecord) }
        return (0, answer(in: text, about: 0))
    }

    /// Which of the names `text` is, in any case and with or without final dot.
    private func index(of text: ArraySlice<UInt8>) -> Int? {
        try? lookup.index(of: try? Name(text: text))
    }

    /// Whether `prefix`, the text before the first colon, is the start of an address, not a name.
    ///
    /// It is if it is the first group of an IPv6 address, alone or after IPv4 addresses.
    private func beginsAddress(_ prefix: ArraySlice<UInt8>) -> Bool {
        if prefix.contains(UInt8(ascii: ";")) || prefix.contains(UInt8(ascii: ",")) { return true }
        var group = prefix
        if lookup.families == .both, let hyphen = prefix.firstIndex(of: UInt8(ascii: "-")) {
            let before = prefix[..<hyphen]
            guard
                before.isEmpty || before.elementsEqual([UInt8(ascii: "0")])
                    || Self.address(in: before, of: .v4) != nil
            else { return false }
            group = prefix[(hyphen + 1)...]
        }
        return group.count <= 4 && group.allSatisfy(Self.isHexadecimal)
    }

    /// Reads what a record says about the families that were asked.
    private func answer(in text: ArraySlice<UInt8>, about index: Int) -> VendorAnswer {
        var answer = VendorAnswer(name: lookup.names[index])
        switch lookup.families {
        case .both:
            if let hyphen = text.firstIndex(of: UInt8(ascii: "-")) {
                answer.v4 = family(.v4, in: text[..<hyphen])
                answer.v6 = family(.v6, in: text[(hyphen + 1)...])
            } else {
                // "0" alone stands for both; addresses alone leave the other family open.
                answer.v4 = family(.v4, in: text)
                answer.v6 = family(.v6, in: text)
            }
        case .v6:
            answer.v6 = family(.v6, in: text)
        case .v4:
            answer.v4 = family(.v4, in: text)
        }
        return answer
    }
}

// MARK: - Families

extension TencentReply {
    /// Reads the list and TTL of one family.
    ///
    /// One bad address is dropped alone, as the vendor's Android kit does; its iOS kit drops the
    /// family.
    ///
    /// - Returns: nil if there is text but no address in it, or if the TTL is no number.
    private func family(_ family: Families, in text: ArraySlice<UInt8>) -> AddressSet? {
        let comma = text.lastIndex(of: UInt8(ascii: ",")) ?? text.endIndex
        let items = text[..<comma].split(separator: UInt8(ascii: ";"))
        // The TTL of an empty family means nothing, and is often 0.
        if items.isEmpty || (items.count == 1 && items[0].elementsEqual([UInt8(ascii: "0")])) {
            return AddressSet.none
        }
        guard let ttl = Self.ttl(in: text[comma...].dropFirst()) else { return nil }
        guard !isSealed || comma < text.endIndex && ttl <= VendorLimits.maximumSealedTTL else {
            return nil
        }

        var set = AddressSet(addresses: [], ttl: ttl)
        var malformed = 0
        for item in items {
            guard let address = Self.address(in: item, of: family) else {
                malformed += 1
                continue
            }
            set.keep(address)
        }
        guard malformed < items.count, !isSealed || malformed == 0 else { return nil }
        set.dropped += malformed
        return set
    }

    /// Seconds from decimal digits; without any, the default.
    ///
    /// - Returns: nil for anything else, and for more digits than 32 bits can take.
    private static func ttl(in text: ArraySlice<UInt8>) -> UInt32? {
        guard !text.isEmpty else { return VendorLimits.defaultTTL }
        guard text.count <= 10 else { return nil }
        var value: UInt64 = 0
        for octet in text {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) else { return nil }
            value = value * 10 + UInt64(octet - UInt8(ascii: "0"))
        }
        return UInt32(clamping: min(value, UInt64(VendorLimits.maximumTTL)))
    }

    /// An address literal of `family`; nil for anything else.
    private static func address(in text: ArraySlice<UInt8>, of family: Families) -> IPAddress? {
        // 45 characters are the longest literal (RFC 4291 §2.2); a scope is not part of it.
        let isLiteral = text.allSatisfy {
            isHexadecimal($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":")
        }
        guard text.count <= 45, isLiteral,
            let address = IPAddress(String(decoding: text, as: Unicode.UTF8.self))
        else { return nil }
        switch address {
        case .v4: return family == .v4 ? address : nil
        case .v6: return family == .v6 ? address : nil
        }
    }
}

// MARK: - Octets

extension TencentReply {
    /// Whether `octet` may be part of a host name.
    static func isInHostnames(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default:
            false
        }
    }

    /// Whether `octet` is a hexadecimal digit of either case.
    private static func isHexadecimal(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default:
            false
        }
    }
}

extension VendorAnswer {
    /// Whether the reply tells of all `families`.
    fileprivate func hasAll(_ families: Families) -> Bool {
        (v4 != nil || !families.includesV4) && (v6 != nil || !families.includesV6)
    }
}

extension ArraySlice<UInt8> {
    /// Without the spaces, tabs and line ends at its end.
    func trimmingTrailingSpace() -> ArraySlice<UInt8> {
        var end = endIndex
        while end > startIndex {
            switch self[index(before: end)] {
            case 0x20, 0x09, 0x0D, 0x0A: end = index(before: end)
            default: return self[startIndex..<end]
            }
        }
        return self[startIndex..<end]
    }
}
