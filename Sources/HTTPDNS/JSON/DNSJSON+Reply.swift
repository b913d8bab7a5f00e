// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

extension DNSJSON {
    /// Returns the answer in `{"Status", "Question", "Answer": [{…, "TTL", "data"}], "Authority"}`.
    package func answers(
        to lookup: VendorQuery,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        if reply.status != 200, let code = reply.code(in: "code") { throw reply.error(code) }
        let json = try reply.acceptedJSON()
        guard let status = json["Status"]?.number.flatMap({ UInt16(exactly: $0) }) else {
            // AliDNS sends account errors with status 200.
            if let code = json["code"]?.text.flatMap(VendorCode.init) {
                throw .serverStatus(reply.status, code: code)
            }
            throw .unreadable(.member("Status"))
        }
        let code = RCode(rawValue: status)
        guard code == .noError || code == .nxDomain else { throw .responseCode(code) }
        guard json["TC"]?.isTrue != true else { throw .unreadable(.member("TC")) }
        try Self.check(json["Question"], against: lookup)

        var set = try Chain(from: lookup, in: json["Answer"]).set
        var answer = VendorAnswer(name: lookup.names[0])
        if set.addresses.isEmpty {
            let ttl = try Self.negativeTTL(in: json).map { min($0, set.ttl) }
            set.ttl = ttl ?? VendorLimits.defaultTTL
            // An empty answer is not NODATA if unusable addresses were dropped.
            if set.dropped == 0 {
                answer.denial = Denial(code == .nxDomain ? .nxDomain : .noData, ttl: ttl)
            }
        } else if code == .nxDomain {
            throw .unreadable(.member("Status"))
        }
        switch lookup.recordType {
        case .v6: answer.v6 = set
        default: answer.v4 = set
        }
        return [answer]
    }

    private static func check(
        _ question: JSONValue?,
        against lookup: VendorQuery
    ) throws(VendorError) {
        guard let question else { return }
        var elements = question.sequence
        guard let element = question.isObject ? question : elements?.next(),
            elements?.next() == nil
        else { throw .unreadable(.member("Question")) }
        _ = try lookup.index(of: "name", in: element)
        guard let type = element["type"] else { return }
        guard type.number == Chain.number(of: lookup.recordType) else { throw .wrongName }
    }

    /// Returns the minimum of the SOA record's TTL and MINIMUM (RFC 2308 §5); nil without SOA.
    private static func negativeTTL(in json: JSONValue) throws(VendorError) -> UInt32? {
        for record in try json.optionalElements("Authority") where record["type"]?.number == 6 {
            let fields = record["data"]?.text?.split(separator: " ") ?? []
            guard fields.count == 7, let minimum = UInt32(fields[6]),
                let ttl = AddressSet.ttl(record["TTL"])
            else { continue }
            return min(ttl, minimum, VendorLimits.maximumTTL)
        }
        return nil
    }
}

// MARK: - Aliases

private struct Chain {
    /// Addresses at the end of the CNAME chain, with the lowest TTL of the chain.
    private(set) var set: AddressSet

    /// Follows the CNAME records (RFC 1034 §3.6.2).
    ///
    /// - Throws: `wrongName` if no record has the name of `lookup`.
    init(from lookup: VendorQuery, in answer: JSONValue?) throws(VendorError) {
        var owner = lookup.names[0]
        var records = ShortArray<Record>()
        if let answer {
            guard let elements = answer.sequence else { throw .unreadable(.member("Answer")) }
            for element in elements { records.append(try Record(element, owner)) }
        }
        set = AddressSet(addresses: [], ttl: VendorLimits.maximumTTL)
        guard records.isEmpty || records.contains(where: { $0.owner == owner }) else {
            throw .wrongName
        }
        for _ in 0...VendorLimits.maximumAliases {
            guard let alias = records.first(where: { $0.type == Record.alias && $0.owner == owner })
            else {
                try finish(records, of: owner, lookup.recordType)
                return
            }
            guard let target = alias.data.name else { throw .unreadable(.member("data")) }
            set.ttl = min(set.ttl, alias.ttl)
            owner = target
        }
        throw .unreadable(.member("Answer"))
    }

    private mutating func finish(
        _ records: ShortArray<Record>,
        of owner: Name,
        _ family: Families
    ) throws(VendorError) {
        let number = Self.number(of: family)
        var found: [IPAddress] = []
        var unreadable = 0
        for record in records where record.type == number && record.owner == owner {
            guard let address = record.data.address(of: family) else {
                unreadable += 1
                continue
            }
            set.ttl = min(set.ttl, record.ttl)
            found.append(address)
        }
        guard unreadable == 0 || !found.isEmpty else { throw .unreadable(.member("data")) }
        set.keep(found)
        set.dropped += unreadable
    }

    static func number(of family: Families) -> Int64 { family == .v6 ? 28 : 1 }

    private struct Record {
        static let alias: Int64 = 5

        let owner: Name
        let type: Int64
        let ttl: UInt32

        let data: JSONValue

        init(_ element: JSONValue, _ name: Name) throws(VendorError) {
            guard let owner = element["name"]?.name(or: name) else {
                throw .unreadable(.member("name"))
            }
            guard let type = element["type"]?.number else { throw .unreadable(.member("type")) }
            guard let ttl = AddressSet.ttl(element["TTL"]) else {
                throw .unreadable(.member("TTL"))
            }
            self.owner = owner
            self.type = type
            self.ttl = ttl
            guard let data = element["data"], data.isText else {
                throw .unreadable(.member("data"))
            }
            self.data = data
        }
    }
}
