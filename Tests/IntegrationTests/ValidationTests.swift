// SPDX-License-Identifier: Apache-2.0
import Testing

/// AD (RFC 4035 §3.2.3, RFC 6840 §5.7 and §5.8), with a validating unbound and a signed zone.
@Suite("Validating upstreams", .needs(.dig, .nsd, .unbound), .timeLimit(.minutes(15)))
struct ValidationTests {
    private static func unbound() throws -> (server: TestUpstream, unbound: ForwardingUnbound) {
        var zones = TestUpstream.zones
        zones[SignedZone.name] = SignedZone.text
        let server = try TestUpstream(zones: zones)
        return (server, try ForwardingUnbound(before: server, anchor: SignedZone.anchor))
    }

    private static func check(_ daemon: TestDaemon, isBelieved: Bool) throws {
        let proven = ["www.example.org", "alias.example.org"]
        for name in proven + ["www.example.com"] {
            let isProven = isBelieved && proven.contains(name)
            for round in ["from the upstream", "from the cache"] {
                for (options, knowsAD) in [
                    (["+noadflag"], false), (["+adflag"], true), (["+noadflag", "+noedns"], false),
                    (["+adflag", "+noedns"], true), (["+noadflag", "+dnssec"], true),
                    (["+adflag", "+tcp"], true), (["+noadflag", "+tcp"], false),
                ] {
                    let reply = try Dig(port: daemon.port, [name, "A"] + options)
                    #expect(
                        reply.flags.contains("ad") == (isProven && knowsAD),
                        "\(round), \(options): \(reply.text)"
                    )
                    #expect(reply.status == "NOERROR")
                }
            }
        }
        let denial = try Dig(port: daemon.port, ["nothing.example.org", "A", "+adflag"])
        #expect(denial.status == "NXDOMAIN")
        #expect(denial.flags.contains("ad") == isBelieved, "\(denial.text)")
        let forged = try Dig(port: daemon.port, ["forged.example.org", "A", "+adflag"])
        #expect(forged.status == "SERVFAIL", "\(forged.text)")
        let unchecked = try Dig(
            port: daemon.port,
            ["forged.example.org", "A", "+adflag", "+cdflag"]
        )
        #expect(unchecked.data("A") == ["198.51.100.5"], "\(unchecked.text)")
        #expect(!unchecked.flags.contains("ad"))
    }

    @Test(
        "the daemon passes the AD flag of a trusted upstream to clients that set AD or DO",
        arguments: [true, false]
    )
    func plain(_ isBelieved: Bool) throws {
        let (server, unbound) = try Self.unbound()
        let daemon = try TestDaemon(
            """
            upstreams:
              - {name: local, url: "udp://127.0.0.1:\(unbound.port)", validates: \(isBelieved)}
            """
        )
        try withExtendedLifetime((server, unbound)) {
            try Self.check(daemon, isBelieved: isBelieved)
            let status = try JSON(daemon.control("status", "--json").output)
            let shown = try #require(status["upstreams"].array.first)
            #expect(shown["validates"].bool == isBelieved)
            #expect(shown["protected"].bool == false)
            let servers = shown["servers"].array
            #expect(servers.map { $0["transport"].string } == ["udp"])
            #expect(servers.map { $0["state"].string } == ["up"])
            let entry = try JSON(daemon.control("lookup", "www.example.org", "--json").output)
            let entries = entry["entries"].array
            #expect(entries.map { $0["validated"].bool } == [isBelieved, isBelieved])
            #expect(entries.map { $0["protected"].bool } == [false, false])
        }
        try daemon.stop()
    }

    @Test(
        "the daemon passes on the AD flag of a remote upstream over TLS",
        .needs(.dnsdist, .openssl)
    )
    func encrypted() throws {
        let (server, unbound) = try Self.unbound()
        let certificate = try ResolverCertificate()
        let dnsdist = try TestDnsdist(certificate, backend: unbound.port)
        let authority = certificate.authority
        let daemon = try TestDaemon(
            "upstreams: [\(dnsdist.ports.entry(.tls, authority: authority, extra: ", validates: true"))]"
        )
        try withExtendedLifetime((server, unbound, dnsdist)) {
            try Self.check(daemon, isBelieved: true)
            let stats = try daemon.stats()
            let shown = try #require(stats["upstreams"].array.first)
            #expect((shown["connections-opened"].int ?? 0) > 0)
            #expect((shown["connections-reused"].int ?? 0) > 0)
        }
        try daemon.stop()
    }
}
