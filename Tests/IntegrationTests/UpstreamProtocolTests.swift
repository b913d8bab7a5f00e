// SPDX-License-Identifier: Apache-2.0
import Testing

/// DoT (RFC 7858) with the strict profile only (RFC 8310 §5), DoH, UDP and TCP.
@Suite("Upstream protocols", .needs(.dig, .openssl, .unbound), .hangLimit)
struct UpstreamProtocolTests {
    private typealias Channel = ResolverPorts.Channel

    @Test(
        "the client gets unbound's answers over each protocol",
        arguments: ResolverPorts.Channel.allCases
    )
    func answers(_ channel: ResolverPorts.Channel) throws {
        let certificate = try ResolverCertificate()
        let unbound = try TestUnbound(certificate)
        let daemon = try TestDaemon(
            "upstreams: [\(unbound.ports.entry(channel, authority: certificate.authority))]"
        )
        #expect(try daemon.dig("www.example.org", "A").data("A") == ["192.0.2.7"])
        #expect(try daemon.dig("www.example.org", "AAAA").data("AAAA") == ["2001:db8::7"])
        let none = try daemon.dig("nothing.example.org", "A")
        #expect(none.status == "NXDOMAIN")
        #expect(none.authorities.map(\.type) == ["SOA"])
        let noData = try daemon.dig("www.example.org", "MX")
        #expect(noData.status == "NOERROR" && noData.answers.isEmpty)
        let big = try daemon.dig("big.example.org", "TXT")
        #expect(big.transport == "TCP" && big.answers.count == 20, "\(big.text)")
        let refused = try daemon.dig("refused.example.org", "A")
        #expect(refused.status == "SERVFAIL", "\(refused.text)")
        for number in 0..<20 {
            let reply = try daemon.dig("n\(number).many.example.org", "A")
            #expect(reply.data("A") == ["192.0.2.8"])
        }

        let status = try JSON(try daemon.control("status", "--json").output)
        let shown = try #require(status["upstreams"].array.first)
        let isProtected = channel == .tls || channel == .https
        #expect(shown["protected"].bool == isProtected)
        #expect(shown["state"].string == "up")
        #expect(shown["url"].string?.hasPrefix("\(channel)://") == true)
        let stats = try daemon.stats()
        #expect(stats["queries", "by-source", "upstream"].int == 25)

        let explained = try daemon.control("explain", "www.example.org", "--live", "--json")
        let attempt = try #require(try JSON(explained.output)["live", "attempts"].array.last)
        #expect(attempt["reused"].bool == (channel == .udp ? nil : true))
        #expect(attempt["status"].int == (channel == .https ? 200 : nil))
        #expect(attempt["result"].string?.hasPrefix("NOERROR, A 192.0.2.7 (") == true)
        try daemon.stop()
    }

    @Test(
        "the client gets dnsdist's answers over DoT and DoH",
        .needs(.dnsdist, .nsd),
        arguments: [ResolverPorts.Channel.tls, .https]
    )
    func dnsdist(_ channel: ResolverPorts.Channel) throws {
        let certificate = try ResolverCertificate()
        let server = try TestUpstream()
        let dnsdist = try TestDnsdist(certificate, backend: server.port)
        let daemon = try TestDaemon(
            "upstreams: [\(dnsdist.ports.entry(channel, authority: certificate.authority))]"
        )
        #expect(try daemon.dig("one.example.org", "A").data("A") == ["198.51.100.3"])
        #expect(try daemon.dig("big.example.org", "TXT").answers.count == TestUpstream.big.count)
        #expect(try daemon.dig("nothing.example.org", "A").status == "NXDOMAIN")
        #expect(try daemon.dig("text.example.org", "TXT").answers.count == 1)
        try daemon.stop()
    }

    @Test(
        "an upstream server with a wrong certificate name gets no query",
        arguments: [Channel.tls, .https]
    )
    private func impostor(_ channel: Channel) throws {
        let certificate = try ResolverCertificate()
        let unbound = try TestUnbound(certificate)
        let entry = unbound.ports.entry(
            channel,
            authority: certificate.authority,
            name: "other.example.net"
        )
        let daemon = try TestDaemon("upstreams: [\(entry)]")
        let reply = try daemon.dig("www.example.org", "A")
        #expect(reply.status == "SERVFAIL")
        #expect(reply.text.contains("EDE: 23 (Network Error)"), "\(reply.text)")
        let stats = try daemon.stats()
        let upstream = try #require(stats["upstreams"].array.first)
        #expect(upstream["failures"].keys == ["untrusted"])
        #expect(upstream["failures-by-kind"].keys == ["untrusted"])
        #expect(upstream["failed"].int == upstream["failures"].sum)
        try daemon.stop()
    }

    @Test(
        "after a restart of the upstream server, the daemon connects again",
        arguments: [Channel.tcp, .tls, .https]
    )
    private func restart(_ channel: Channel) throws {
        let certificate = try ResolverCertificate()
        let first = try TestUnbound(certificate)
        let daemon = try TestDaemon(
            "upstreams: [\(first.ports.entry(channel, authority: certificate.authority))]"
        )
        #expect(try daemon.dig("www.example.org", "A").status == "NOERROR")
        try first.program.stop()
        try TestUnbound(certificate, ports: first.ports).keeping { _ in
            let reply = try daemon.dig("a.many.example.org", "A")
            #expect(reply.data("A") == ["192.0.2.8"], "\(reply.text)")
        }
        try daemon.stop()
    }

    @Test("the daemon detects an upstream that forwards queries back to the daemon")
    func loop() throws {
        let certificate = try ResolverCertificate()
        let port = try freePort()
        let unbound = try TestUnbound(certificate, forwarding: port)
        let daemon = try TestDaemon(
            "upstreams: [\(unbound.ports.entry(.udp, authority: certificate.authority))]",
            listen: "127.0.0.1:\(port)"
        )
        #expect(try daemon.dig("www.example.org", "A").data("A") == ["192.0.2.7"])
        let first = try daemon.dig("www.example.com", "A")
        #expect(first.status == "SERVFAIL")
        _ = try daemon.program.line(with: "back to this daemon, so the daemon ignores")
        let second = try daemon.dig("www.example.net", "A")
        #expect(second.status == "SERVFAIL")
        #expect(
            second.text.contains("the upstreams forward queries back to this server"),
            "\(second.text)"
        )
        try daemon.stop()
    }
}
