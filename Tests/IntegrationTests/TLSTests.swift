// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Vendors over TLS", .needs(.dig, .nsd, .nginx, .openssl, .curl), .hangLimit)
struct TLSTests {
    private static let vendors = ["192.0.2.1", "192.0.2.2"]
    private static let upstreams = ["198.51.100.99"]

    @Test(
        "the daemon calls each vendor over HTTP/2 with the documented name in SNI and Host",
        arguments: TLSVendor.all
    )
    func answers(_ vendor: TLSVendor) throws {
        let harness = try TLSHarness(vendor)
        let reply = try harness.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == Self.vendors, "\(reply.text)")
        #expect(try harness.daemon.dig("www.example.com", "AAAA").data("AAAA") == ["2001:db8::1"])
        let calls = try harness.emulator.calls()
        #expect(calls["channels", vendor.channel].int == vendor.calls, "\(calls.value ?? "")")
        #expect(calls["lookups"].int == vendor.calls)
        #expect(try harness.daemon.control("status").status == 0)
        try harness.daemon.stop()
        let log = try harness.front.stop()
        #expect(log.map(\.httpVersion) == Array(repeating: "HTTP/2.0", count: vendor.calls))
        #expect(Set(log.map(\.connection)).count == 1)
        #expect(Set(log.map(\.host)) == [vendor.host])
        // SNI must not contain an address (RFC 6066 §3).
        let isAddress = vendor.certificate.contains("IP:\(vendor.host)")
        #expect(Set(log.map(\.serverName)) == [isAddress ? "-" : vendor.host])
    }

    enum Impostor: String, CaseIterable, Sendable {
        case wrongName = "no alternative certificate subject name matches"
        case unknownAuthority = "unable to get local issuer certificate"
        case expired = "certificate has expired"
    }

    @Test(
        "a vendor server with an invalid certificate gets no request; `status` shows the reason",
        arguments: Impostor.allCases,
        [TLSVendor.tencent, .tencentByName, .google]
    )
    func impostor(_ impostor: Impostor, _ vendor: TLSVendor) throws {
        let harness =
            switch impostor {
            case .wrongName:
                try TLSHarness(vendor, certificate: ["DNS:else.example.net", "IP:127.0.0.2"])
            case .unknownAuthority: try TLSHarness(vendor, trusted: Authority())
            case .expired: try TLSHarness(vendor, isExpired: true)
            }
        let reply = try harness.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == Self.upstreams, "\(reply.text)")
        #expect(try harness.emulator.lookups() == 0, "the secret must not be sent")
        let failures = try #require(try harness.daemon.stats()["vendors"].array.first)["failures"]
        #expect(failures["tls"].int ?? 0 >= 1)
        let status = try harness.daemon.control("status", "--json")
        let server = try #require(
            try JSON(status.output)["vendors"].array.first?["servers"].array.first
        )
        let error = try #require(server["last-error"].string, "\(status.output)")
        #expect(error.hasPrefix("TLS failed: ") && error.contains(impostor.rawValue), "\(error)")
        #expect(status.status == 4)
        #expect(try harness.daemon.control("status").output.contains("TLS failed: "))
        try harness.daemon.stop()
    }

    @Test("if `ca-file` is not set, the daemon trusts the authorities in SSL_CERT_FILE")
    func environment() throws {
        let harness = try TLSHarness(.google, hasFile: false)
        let reply = try harness.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == Self.vendors, "\(reply.text)")
        try harness.daemon.stop()
        let stranger = try TLSHarness(.google, trusted: Authority(), hasFile: false)
        #expect(try stranger.daemon.dig("www.example.com", "A").data("A") == Self.upstreams)
        try stranger.daemon.stop()
    }

    @Test(
        "`status` reports that the system has no CA certificates, until they are installed",
        .needs(.unshare, .ip)
    )
    func installedLater() throws {
        let namespace = try Namespace()
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(try namespace.run("mount", ["-t", "tmpfs", "none", "/etc/ssl/certs"]).status == 0)
        let daemon = try TestDaemon(
            "upstreams: [{name: one, url: \"https://127.0.0.1:9/dns-query\"}]",
            environment: ["SSL_CERT_DIR": "/etc/ssl/certs"],
            in: namespace
        )
        func problems() throws -> [String] {
            try JSON(daemon.control("status", "--json").output)["problems"].array
                .compactMap(\.string)
        }
        #expect(try daemon.dig("www.example.com", "A").status == "SERVFAIL")
        _ = try daemon.program.line(with: "the system has no CA certificates")
        #expect(try problems().contains { $0.hasPrefix("certificates: ") })
        let authority = try Authority()
        #expect(try namespace.run("cp", [authority.file, bundle]).status == 0)
        _ = try daemon.program.line(with: "certificates: reloaded ")
        #expect(try !problems().contains { $0.hasPrefix("certificates: ") })
        try daemon.stop()
    }

    @Test(
        "`http` selects the HTTP version; `auto` selects the best version",
        arguments: [
            ("1.1", true, "HTTP/1.1"), ("2", true, "HTTP/2.0"), ("auto", true, "HTTP/2.0"),
            ("auto", false, "HTTP/1.1"),
        ]
    )
    func version(setting: String, hasHTTP2: Bool, spoken: String) throws {
        let harness = try TLSHarness(.tencent, hasHTTP2: hasHTTP2, extra: "http: \(setting)")
        for name in ["www", "four"] {
            let reply = try harness.daemon.dig("\(name).example.com", "A")
            #expect(reply.data("A").first?.hasPrefix("192.0.2.") == true, "\(reply.text)")
        }
        try harness.daemon.stop()
        let log = try harness.front.stop()
        #expect(log.map(\.httpVersion) == [spoken, spoken])
        #expect(Set(log.map(\.connection)).count == 1)
    }

    @Test("if the vendor often closes its connections, no lookup fails", arguments: ["1.1", "2"])
    func goingAway(version: String) throws {
        // After 20 requests nginx sends GOAWAY (RFC 9113 §6.8) or `Connection: close`.
        let harness = try TLSHarness(
            .google,
            requests: 20,
            extra: "http: \(version)\ntimeout: 4s\nhedge-after: 4s"
        )
        let client = try Socket(.datagram, to: harness.daemon.port)
        let names = 300
        for start in stride(from: 0, to: names, by: 50) {
            for number in start..<start + 50 {
                let name = "name\(number).many.example.com"
                try client.send(RawMessage.query(name, id: UInt16(number)))
            }
            var waiting = Set((start..<start + 50).map(UInt16.init))
            while !waiting.isEmpty {
                let reply = try client.receive()
                waiting.remove(RawMessage.id(reply))
                #expect(RawMessage.rcode(reply) == 0 && RawMessage.answers(reply) == 1)
            }
        }
        let stats = try harness.daemon.stats()
        #expect(stats["queries", "by-source", "vendor"].int == names)
        let failures = try #require(stats["vendors"].array.first)["failures"]
        #expect(failures.sum == 0, "\(failures.value ?? "")")
        try harness.daemon.stop()
        let connections = Dictionary(grouping: try harness.front.stop(), by: \.connection)
        #expect(connections.values.allSatisfy { $0.count <= 20 })
    }
}
