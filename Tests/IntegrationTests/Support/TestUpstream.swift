// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

final class TestUpstream: Sendable {
    let port: UInt16
    private let program: Child
    private let scratch: Scratch

    var text: String { "upstreams: [{name: nsd, url: \"udp://127.0.0.1:\(port)\"}]" }

    init(zones: [String: String] = zones, in namespace: Namespace? = nil) throws {
        let scratch = try Scratch()
        self.scratch = scratch
        for (name, text) in zones { try scratch.write(text, to: "\(name).zone") }
        (port, program) = try withFreePorts {
            let port = namespace == nil ? try freePort() : 5353
            try scratch.write(TestUpstream.settings(port, scratch.path, zones.keys), to: "nsd.conf")
            let program = try Child("nsd", ["-d", "-c", scratch.file("nsd.conf")], in: namespace)
            _ = try program.line(with: "nsd started")
            return (port, program)
        }
    }

    /// Stops NSD with a signal, because only NSD itself can stop its child processes.
    deinit { _ = try? program.stop() }

    private static func settings(
        _ port: UInt16,
        _ directory: String,
        _ zones: some Collection<String>
    ) -> String {
        """
        server:
            ip-address: 127.0.0.1
            port: \(port)
            server-count: 1
            username: ""
            zonesdir: "\(directory)"
            database: ""
            pidfile: ""
            xfrdfile: "\(directory)/xfrd.state"
            xfrdir: "\(directory)"
            zonelistfile: "\(directory)/zone.list"
            verbosity: 1
            ipv4-edns-size: 4096
            rrl-ratelimit: 0
        remote-control:
            control-enable: no

        """
            + zones.sorted().map { "zone:\n    name: \($0)\n    zonefile: \($0).zone\n" }.joined()
    }

    static let zones = ["example.com": zone, "example.org": otherZone]

    static let forty = (1...40).map { "198.51.100.\($0)" }

    static let big = (0..<20).map { number in
        "\(number)-" + String(repeating: "x", count: 240)
    }

    private static let zone =
        """
        $ORIGIN example.com.
        $TTL 300
        @        SOA ns hostmaster 1 3600 600 86400 60
        @        NS ns
        ns       A 198.51.100.53
        @        MX 10 mail
        @        MX 20 mail.example.org.
        mail     A 198.51.100.25
        www      A 198.51.100.99
        www      AAAA 2001:db8:99::1
        www      TXT "from the upstream"
        www      HTTPS 1 . alpn=h2 ipv4hint=198.51.100.99 ipv6hint=2001:db8:99::1
        upstream A 198.51.100.98
        onlyhere AAAA 2001:db8:99::2
        """ + "\n"

    private static let otherZone =
        """
        $ORIGIN example.org.
        $TTL 300
        @        SOA ns hostmaster 1 3600 600 86400 60
        @        NS ns
        ns       A 198.51.100.53
        @        MX 10 mail
        mail     A 198.51.100.26
        one      CNAME two
        two      CNAME three.example.org.
        three    A 198.51.100.3
        text     TXT "first" "second; \\"quoted\\""
        unknown  TYPE65280 \\# 4 DEADBEEF
        _sip._tcp SRV 1 2 5060 mail
        hints    HTTPS 1 . ipv4hint=198.51.100.7,10.0.0.7 ipv6hint=2001:db8:99::7
        inside   A 192.168.0.1
        mixed    A 198.51.100.8
        mixed    A 10.0.0.8
        allowed  A 10.0.0.9
        near     A 127.0.0.77
        near     A 127.0.0.1

        """
        + forty.map { "forty A \($0)\n" }.joined()
        + big.map { "big TXT \"\($0)\"\n" }.joined()
}

func freePort() throws -> UInt16 {
    for _ in 0..<20 {
        let stream = try Socket(.stream, bound: true)
        if (try? Socket(.datagram, bound: true, port: stream.port)) != nil { return stream.port }
    }
    throw Child.Failure(description: "no port is free for UDP and TCP")
}
