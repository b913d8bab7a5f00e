// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// Scheduling service `ss` (Alibaba Cloud document 111585).
extension Alibaba: AddressScheduling {
    private static let scheduleRefresh = Duration.seconds(8 * 3_600)

    /// Short interval, because an attacker can forge a list that is received without TLS.
    private static let unauthenticatedRefresh = Duration.seconds(600)

    package static func scheduleRefresh(usesTLS: Bool) -> Duration {
        usesTLS ? scheduleRefresh : unauthenticatedRefresh
    }

    /// Returns the request `GET /{account}/ss`.
    ///
    /// The signature is MD5, as in the example of the document. The document does not say if `t` is
    /// the expiry or the current time. A time one minute in the future can be valid as both.
    package func scheduleRequest(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        var query = QueryWriter()
        query.append("region", region.rawValue)
        query.append("platform", "linux")
        if let secret {
            let nonce = try entropy.octets(8).hexadecimal
            let time = String(wallSeconds + VendorLimits.scheduleLifetime)
            query.append("n", nonce)
            query.append("t", time)
            query.append("s", try Digest.md5(nonce, secret, time))
        }
        return HTTPRequest(
            url: origin.url(at: server) + "/\(account)/ss?" + query.text,
            server: server
        )
    }

    /// Returns the servers in `{"service_ip": […], "service_ipv6": […]}` with optional ports.
    package func servers(
        in reply: HTTPReply,
        from server: SocketAddress
    ) throws(VendorError) -> ServiceAddresses {
        let json = try Self.json(in: reply)
        if json["service_status"]?.text == VendorCode.disable.text {
            throw .unauthorized(status: reply.status, code: .disable)
        }
        let servers =
            try servers(in: json, "service_ip", .v4, from: server)
            + servers(in: json, "service_ipv6", .v6, from: server)
        guard !servers.isEmpty else { throw .unreadable(.member("service_ip")) }
        return ServiceAddresses(servers: servers)
    }

    /// Without TLS, each server must have the default port or the port of `scheduler` (the queried
    /// server), because an attacker can forge the reply.
    private func servers(
        in json: JSONValue,
        _ key: String,
        _ family: Families,
        from scheduler: SocketAddress
    ) throws(VendorError) -> [SocketAddress] {
        let items = try json.optionalElements(key)
        let ports = try json.optionalElements(key + "_port")
        guard ports.isEmpty || ports.count == items.count else {
            throw .unreadable(.member(key + "_port"))
        }
        var servers: [SocketAddress] = []
        for (index, item) in items.prefix(VendorLimits.maximumServers / 2).enumerated() {
            let number = ports.isEmpty ? Int64(facts.defaultPort) : ports[index].number
            guard let address = item.address(of: family),
                let port = number.flatMap({ UInt16(exactly: $0) }),
                facts.usesTLS || port == facts.defaultPort || port == scheduler.port,
                let server = SocketAddress(address, port: port, from: scheduler),
                !servers.contains(server)
            else { continue }
            servers.append(server)
        }
        return servers
    }
}
