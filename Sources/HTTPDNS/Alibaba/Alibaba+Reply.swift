// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

extension Alibaba {
    package func answers(
        to lookup: VendorQuery,
        in reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        let json = try Self.json(in: reply)
        switch api {
        case .v2: return try v2Answers(to: lookup, in: json, reply)
        case .v1: return try v1Answers(to: lookup, in: json)
        }
    }
}

// MARK: - v2

extension Alibaba {
    /// Returns the answers in the v2 reply `{"code", "mode", "data": {"answers": […]}}`.
    private func v2Answers(
        to lookup: VendorQuery,
        in json: JSONValue,
        _ reply: HTTPReply
    ) throws(VendorError) -> [VendorAnswer] {
        let word = try json.requiredText("code")
        guard word == "success" else {
            guard let code = VendorCode(word) else { throw .unreadable(.member("code")) }
            throw Self.error(code, in: reply)
        }
        let data = try data(of: json)
        guard let entries = data["answers"]?.elements else {
            throw .unreadable(.member("answers"))
        }
        var found = [VendorAnswer?](repeating: nil, count: lookup.names.count)
        for entry in entries {
            let index = try lookup.index(of: "dn", in: entry)
            guard found[index] == nil else { continue }
            var answer = VendorAnswer(name: lookup.names[index], client: data.client("cip"))
            if lookup.families.includesV4 { answer.v4 = try Self.family(.v4, in: entry["v4"]) }
            if lookup.families.includesV6 { answer.v6 = try Self.family(.v6, in: entry["v6"]) }
            found[index] = answer
        }
        return try lookup.complete(found)
    }

    /// Returns the member `data`, decrypted if the request was encrypted.
    ///
    /// The `mode` of the reply must be the mode of the request. Otherwise, an attacker could forge
    /// a reply in plain text.
    private func data(of json: JSONValue) throws(VendorError) -> JSONValue {
        let mode =
            if let mode = json["mode"] {
                mode.number ?? mode.text.flatMap { Int64($0) } ?? -1
            } else {
                Int64(0)
            }
        guard let data = json["data"] else { throw .unreadable(.member("data")) }
        guard let cipher else {
            guard mode == 0 else { throw .unreadable(.member("mode")) }
            return data
        }
        guard mode == encryption.mode, let text = data.text,
            let sealed = Base64.decode(text.utf8)
        else { throw .undecryptable }
        let plain = try cipher.open(sealed)
        // With a wrong key, the padding is valid in 1 of 256 cases, but then the text is not JSON.
        guard let json = try? JSONValue.read(plain) else { throw .undecryptable }
        return json
    }

    /// Returns the addresses in the object `{"ips": […], "ttl", "no_ip_code"}`.
    private static func family(
        _ family: Families,
        in value: JSONValue?
    ) throws(VendorError) -> AddressSet? {
        guard let value else { return nil }
        guard value.isObject else {
            throw .unreadable(.member(family == .v4 ? "v4" : "v6"))
        }
        var set = AddressSet(try value.optionalElements("ips"), of: family, ttl: value["ttl"])
        if set?.addresses.isEmpty == true, let word = value["no_ip_code"]?.text {
            set?.reason = VendorCode(word)
            guard set?.reason == .noRecord || set?.reason == .noDomain else { return nil }
        }
        return set
    }
}

// MARK: - v1

extension Alibaba {
    /// Returns the answers in the v1 reply `{"host", "ips", "ipsv6", "ttl"}` or `{"dns": […]}`.
    private func v1Answers(
        to lookup: VendorQuery,
        in json: JSONValue
    ) throws(VendorError) -> [VendorAnswer] {
        var entries = [json]
        if lookup.names.count > 1 {
            guard let batch = json["dns"]?.elements else { throw .unreadable(.member("dns")) }
            entries = batch
        }
        var found = [VendorAnswer?](repeating: nil, count: lookup.names.count)
        for entry in entries {
            let index = try lookup.index(of: "host", in: entry)
            var answer =
                found[index]
                ?? VendorAnswer(name: lookup.names[index], client: entry.client("client_ip"))
            let (v4, v6) = try Self.families(in: entry)
            if lookup.families.includesV4, answer.v4?.addresses.isEmpty ?? true {
                answer.v4 = v4 ?? answer.v4
            }
            if lookup.families.includesV6, answer.v6?.addresses.isEmpty ?? true {
                answer.v6 = v6 ?? answer.v6
            }
            found[index] = answer
        }
        return try lookup.complete(found)
    }

    private static func families(
        in entry: JSONValue
    ) throws(VendorError) -> (v4: AddressSet?, v6: AddressSet?) {
        let ttl = entry["ttl"]
        let items = try entry.optionalElements("ips")
        let items6 = try entry.optionalElements("ipsv6")
        guard let type = entry["type"] else {
            let isV6 = { (item: JSONValue) in item.address(of: .v6) != nil }
            let sixes = items.filter(isV6) + items6
            let fours = items.filter { !isV6($0) }
            return (
                fours.isEmpty && !sixes.isEmpty ? nil : AddressSet(fours, of: .v4, ttl: ttl),
                sixes.isEmpty && entry["ipsv6"] == nil ? nil : AddressSet(sixes, of: .v6, ttl: ttl)
            )
        }
        switch type.number {
        case 1: return (AddressSet(items, of: .v4, ttl: ttl), nil)
        case 28: return (nil, AddressSet(items + items6, of: .v6, ttl: ttl))
        default: throw .unreadable(.member("type"))
        }
    }
}
