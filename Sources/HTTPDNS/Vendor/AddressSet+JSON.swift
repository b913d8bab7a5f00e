// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension AddressSet {
    /// Reads the addresses and the TTL of one family.
    ///
    /// One bad address is dropped alone.  A TTL that is missing is the default.
    ///
    /// - Returns: nil if there are items but none is an address of `family`, or if the TTL is no
    ///   whole number from 0 to 2³¹-1.
    init?(_ items: [JSONValue], of family: Families, ttl: JSONValue?) {
        guard let seconds = Self.ttl(ttl) else { return nil }
        self.init(addresses: [], ttl: seconds)
        var malformed = 0
        for item in items {
            guard let text = item.text, let address = Self.address(text, of: family) else {
                malformed += 1
                continue
            }
            keep(address)
        }
        guard malformed < items.count || items.isEmpty else { return nil }
        dropped += malformed
    }

    /// Adds an address, unless it is unusable, there already (RFC 2181 §5), or one too many.
    mutating func keep(_ address: IPAddress) {
        guard !addresses.contains(address) else { return }
        if !address.isUnusable, addresses.count < VendorLimits.maximumAddresses {
            addresses.append(address)
        } else {
            dropped += 1
        }
    }

    /// Seconds from a member of the reply; without one, the default.
    static func ttl(_ value: JSONValue?) -> UInt32? {
        guard let value else { return VendorLimits.defaultTTL }
        guard let seconds = value.number, (0...Int64(VendorLimits.maximumTTL)).contains(seconds)
        else { return nil }
        return UInt32(seconds)
    }

    /// An address literal of `family`; nil for anything else.
    static func address(_ text: String, of family: Families) -> IPAddress? {
        // 45 characters are the longest literal (RFC 4291 §2.2).
        guard text.utf8.count <= 45, let address = IPAddress(text) else { return nil }
        switch address {
        case .v4: return family.includesV4 ? address : nil
        case .v6: return family.includesV6 ? address : nil
        }
    }
}

extension Lookup {
    /// Which of the names `name` is; nil stands for a text that is no name.
    ///
    /// - Throws: `VendorError.wrongName` if it is none of them.
    func index(of name: Name?) throws(VendorError) -> Int {
        guard let name, let index = names.firstIndex(of: name) else { throw .wrongName }
        return index
    }

    /// Which of the names the member `key` is, in any case and with or without final dot.
    ///
    /// - Throws: `VendorError.unreadable(.member)` if it is no text, `.wrongName` if it is another.
    func index(of key: String, in json: JSONValue) throws(VendorError) -> Int {
        guard let value = json[key], value.isText else { throw .unreadable(.member(key)) }
        return try index(of: value.name)
    }

    /// The text of the names as vendors want it: in lower case, with commas between them.
    ///
    /// - Precondition: as many names as one call may carry.
    /// - Throws: `VendorError.unusableName` if one is no host name.
    func list(for facts: VendorFacts) throws(VendorError) -> String {
        precondition(
            (1...facts.maximumNames).contains(names.count),
            "a call carries one to \(facts.maximumNames) names"
        )
        var text = ""
        for name in names {
            guard let host = name.hostText else { throw .unusableName }
            if text.isEmpty { text = host } else { text += "," + host }
        }
        return text
    }

    /// Gives each name its answer, and those that the reply does not mention an empty one.
    ///
    /// - Throws: `VendorError.unreadable(.noRecord)` if nothing of the reply could be read.
    func complete(_ found: [VendorAnswer?]) throws(VendorError) -> [VendorAnswer] {
        let answers = zip(names, found).map { name, answer in
            answer
                ?? VendorAnswer(
                    name: name,
                    v4: families.includesV4 ? AddressSet.none : nil,
                    v6: families.includesV6 ? AddressSet.none : nil
                )
        }
        guard answers.contains(where: { $0.v4 != nil || $0.v6 != nil || $0.denial != nil }) else {
            throw .unreadable(.noRecord)
        }
        return answers
    }
}
