// SPDX-License-Identifier: Apache-2.0
import DNSWire

extension AddressSet {
    /// Creates the addresses of one family; nil if the TTL or all items are invalid.
    init?(_ items: [JSONValue], of family: Families, ttl: JSONValue?) {
        guard let seconds = Self.ttl(ttl) else { return nil }
        self.init(addresses: [], ttl: seconds)
        let found = items.compactMap { $0.address(of: family) }
        guard !found.isEmpty || items.isEmpty else { return nil }
        keep(found)
        dropped += items.count - found.count
    }

    /// Appends usable addresses, up to the limit, without duplicates (RFC 2181 §5).
    mutating func keep(_ found: [IPAddress]) {
        if addresses.isEmpty, found.count == 1 {
            if found[0].reach == .none { dropped += 1 } else { addresses = found }
            return
        }
        var known = Set(addresses)
        for address in found where known.insert(address).inserted { keep(address) }
    }

    private mutating func keep(_ address: IPAddress) {
        if address.reach != .none, addresses.count < VendorLimits.maximumAddresses {
            addresses.append(address)
        } else {
            dropped += 1
        }
    }

    static func ttl(_ value: JSONValue?) -> UInt32? {
        guard let value else { return VendorLimits.defaultTTL }
        guard let seconds = value.number, (0...Int64(VendorLimits.maximumTTL)).contains(seconds)
        else { return nil }
        return UInt32(seconds)
    }

    static func address(_ text: ArraySlice<UInt8>, of family: Families) -> IPAddress? {
        // The longest address literal has 45 characters (RFC 4291 §2.2).
        guard text.count <= 45, let address = IPAddress(text: text) else { return nil }
        switch address {
        case .v4: return family.includesV4 ? address : nil
        case .v6: return family.includesV6 ? address : nil
        }
    }
}

extension JSONValue {
    func client(_ key: String) -> IPAddress? {
        self[key]?.address(of: .both)
    }
}

extension VendorQuery {
    func index(of name: Name?) throws(VendorError) -> Int {
        guard let name, let index = names.firstIndex(of: name) else { throw .wrongName }
        return index
    }

    func index(of key: String, in json: JSONValue) throws(VendorError) -> Int {
        guard let value = json[key], value.isText else { throw .unreadable(.member(key)) }
        return try index(of: names.count == 1 ? value.name(or: names[0]) : value.name)
    }

    func list(for facts: VendorFacts) throws(VendorError) -> String {
        String(decoding: try octets(for: facts), as: Unicode.UTF8.self)
    }

    func octets(for facts: VendorFacts) throws(VendorError) -> [UInt8] {
        precondition(
            (1...facts.maximumNames).contains(names.count),
            "a call must have 1 to \(facts.maximumNames) names"
        )
        var octets: [UInt8] = []
        octets.reserveCapacity(names.reduce(0) { $0 + $1.octets.count })
        for name in names {
            if !octets.isEmpty { octets.append(UInt8(ascii: ",")) }
            guard name.appendHostText(to: &octets) else { throw .unusableName }
        }
        return octets
    }

    /// Replaces missing answers with empty answers; throws if no answer is readable.
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
