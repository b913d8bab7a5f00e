// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// Scheduling service `/conf` (Tencent Cloud document 379/116336).
extension Tencent: AddressScheduling {
    /// Returns the request `GET /conf`; only the reply is encrypted.
    package func scheduleRequest(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        var query = QueryWriter()
        switch access {
        case .token(let token, _):
            query.append("token", String(decoding: token.copy, as: Unicode.UTF8.self))
        case .sealed(_, let algorithm, let id):
            query.append("id", String(id))
            query.append("alg", algorithm.rawValue)
        }
        return HTTPRequest(url: origin.url(at: server) + "/conf?" + query.text, server: server)
    }

    /// Returns the servers in `log:0|domain:0|ip:192.0.2.1;192.0.2.2|ttl:60` (TTL in minutes).
    ///
    /// An encrypted line must have exactly this form, because an attacker can forge a text of one
    /// cipher block.
    package func servers(
        in reply: HTTPReply,
        from server: SocketAddress
    ) throws(VendorError) -> ServiceAddresses {
        let text = try openedBody(of: reply)
        let fields = text.split(separator: UInt8(ascii: "|")).compactMap(Self.field)
        if isSealed {
            let isASCII = text.allSatisfy { (0x20...0x7E).contains($0) }
            guard isASCII, fields.prefix(4).map(\.key) == ["log", "domain", "ip", "ttl"],
                fields[0].value.count == 1, fields[1].value.count == 1
            else { throw .unreadable(.noRecord) }
        }
        let items = fields.last { $0.key == "ip" }?.value.split(separator: UInt8(ascii: ";")) ?? []
        var servers: [SocketAddress] = []
        for item in items.prefix(VendorLimits.maximumServers) {
            guard let address = AddressSet.address(item, of: .v4) else {
                guard !isSealed else { throw .unreadable(.noRecord) }
                continue
            }
            guard let found = SocketAddress(address, port: server.port, from: server),
                !servers.contains(found)
            else { continue }
            servers.append(found)
        }
        guard !servers.isEmpty else { throw .unreadable(.noRecord) }
        let minutes = fields.last { $0.key == "ttl" }.map { Self.minutes(in: $0.value) } ?? 60
        return ServiceAddresses(
            servers: servers,
            validFor: minutes.map { .seconds(Int64(($0 * 60).rounded())) }
        )
    }

    private static func field(
        _ text: ArraySlice<UInt8>
    ) -> (key: String, value: ArraySlice<UInt8>)? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        return (String(decoding: text[..<colon], as: Unicode.UTF8.self), text[(colon + 1)...])
    }

    /// Returns the minutes, 1…1440, with or without a fraction; nil for other text.
    private static func minutes(in text: ArraySlice<UInt8>) -> Double? {
        let isPlain = text.allSatisfy {
            (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".")
        }
        guard isPlain, text.count <= 8,
            let minutes = Double(String(decoding: text, as: Unicode.UTF8.self)),
            (1...1440).contains(minutes)
        else { return nil }
        return minutes
    }
}
