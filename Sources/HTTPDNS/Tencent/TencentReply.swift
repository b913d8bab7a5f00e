// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Parser of Tencent's replies, after decryption.
///
/// ```
/// body   = [ record *( LF record ) [LF] ]
/// record = [ domain ["."] ":" ] answer [ "|" clientip ]
/// answer = family / family "-" family          ; the second form for type=addrs, IPv4 first
/// family = list [ "," ttl ]
/// list   = "" / "0" / ip *( ";" ip ) [";"]     ; "" and "0" mean none
/// ```
///
/// The parser splits the text at the last `|`, then at the first `:` (names may contain `-`, and
/// IPv6 addresses `:`), then into families.
struct TencentReply {
    private let lookup: VendorQuery

    private let isSealed: Bool

    init(to lookup: VendorQuery, isSealed: Bool) {
        self.lookup = lookup
        self.isSealed = isSealed
    }

    /// Only the first record of each name is used.
    ///
    /// A name that is missing in the body is not registered with the vendor, and its answer is
    /// empty.
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
        guard answers.contains(where: { $0.v4 != nil || $0.v6 != nil }) else {
            throw .unreadable(.noRecord)
        }
        // Usually, only the last record has the client address, which then applies to all names.
        let client = answers.lazy.compactMap(\.client).last
        return answers.map { answer in
            var answer = answer
            answer.client = client
            return answer
        }
    }

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
    private func record(
        in line: ArraySlice<UInt8>
    ) throws(VendorError) -> (index: Int, answer: VendorAnswer) {
        let end = line.lastIndex(of: UInt8(ascii: "|")) ?? line.endIndex
        var (index, answer) = try entry(in: line[..<end].trimmingTrailingSpace())
        let client = line[end...].dropFirst()
        answer.client = Self.address(in: client, of: .v4) ?? Self.address(in: client, of: .v6)
        return (index, answer)
    }

    private func entry(
        in text: ArraySlice<UInt8>
    ) throws(VendorError) -> (index: Int, answer: VendorAnswer) {
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
            return (index, none(for: lookup.names[index]))
        }

        // Only the reply for a single name over TLS may omit the name in its record.
        guard !isSealed else { throw .unreadable(.incomplete) }
        guard lookup.names.count == 1 else { throw .unreadable(.noRecord) }
        return (0, answer(in: text, about: 0))
    }

    private func index(of text: ArraySlice<UInt8>) -> Int? {
        try? lookup.index(of: try? Name(text: text))
    }

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
        return group.count <= 4 && group.allSatisfy { $0.hexadecimalDigit != nil }
    }

    private func answer(in text: ArraySlice<UInt8>, about index: Int) -> VendorAnswer {
        var answer = VendorAnswer(name: lookup.names[index])
        switch lookup.families {
        case .both:
            if let hyphen = text.firstIndex(of: UInt8(ascii: "-")) {
                answer.v4 = family(.v4, in: text[..<hyphen])
                answer.v6 = family(.v6, in: text[(hyphen + 1)...])
            } else {
                // A list of addresses is of one family; the other family stays nil (unknown).
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
    /// In an encrypted reply, one invalid address makes the whole family invalid.
    private func family(_ family: Families, in text: ArraySlice<UInt8>) -> AddressSet? {
        let comma = text.lastIndex(of: UInt8(ascii: ",")) ?? text.endIndex
        let items = text[..<comma].split(separator: UInt8(ascii: ";"))
        if items.isEmpty || (items.count == 1 && items[0].elementsEqual([UInt8(ascii: "0")])) {
            return AddressSet.none
        }
        guard let ttl = Self.ttl(in: text[comma...].dropFirst()) else { return nil }
        guard !isSealed || comma < text.endIndex && ttl <= VendorLimits.maximumSealedTTL else {
            return nil
        }

        let found = items.compactMap { Self.address(in: $0, of: family) }
        guard !found.isEmpty, !isSealed || found.count == items.count else { return nil }
        var set = AddressSet(addresses: [], ttl: ttl)
        set.keep(found)
        set.dropped += items.count - found.count
        return set
    }

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

    private static func address(in text: ArraySlice<UInt8>, of family: Families) -> IPAddress? {
        let isLiteral = text.allSatisfy {
            $0.hexadecimalDigit != nil || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":")
        }
        return isLiteral ? AddressSet.address(text, of: family) : nil
    }
}

// MARK: - Octets

extension TencentReply {
    static func isInHostnames(_ octet: UInt8) -> Bool {
        octet.isAlphanumeric || "-_.".utf8.contains(octet)
    }
}

extension VendorAnswer {
    fileprivate func hasAll(_ families: Families) -> Bool {
        (v4 != nil || !families.includesV4) && (v6 != nil || !families.includesV6)
    }
}

extension ArraySlice<UInt8> {
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
