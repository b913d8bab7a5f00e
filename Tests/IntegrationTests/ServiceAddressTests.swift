// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Servers from the scheduling service of a vendor", .hangLimit)
struct ServiceAddressTests {
    private func named(_ daemon: TestDaemon) throws -> String {
        let line = try daemon.program.line(with: "endpoints refreshed: ")
        return line.components(separatedBy: "endpoints refreshed: ")[1]
    }

    private func waitForProbe(of service: TestEmulator) throws {
        for _ in 0..<1_000 where try service.calls()["lookups"].int == 1 { return }
        Issue.record("the scheduled server gets no probe")
    }

    @Test(
        "the daemon calls the servers that Tencent's /conf lists",
        .needs(.unshare, .ip, .curl, .dig),
        arguments: [VendorText.Channel.aes, .des]
    )
    func conf(channel: VendorText.Channel) throws {
        let namespace = try Namespace()
        let start = try TestEmulator(
            zone: ProgramHarness.zone,
            options: ["--conf-servers", "127.0.0.2,127.0.0.3"],
            listen: "127.0.0.1:80",
            in: namespace
        )
        let service = try TestEmulator(
            zone: ProgramHarness.zone,
            listen: "127.0.0.2:80",
            in: namespace
        )
        let scratch = try Scratch()
        let vendor = try VendorText(
            channel,
            servers: [start.address],
            in: scratch,
            extra: "conf: {servers: [\"\(start.address)\"], refresh: 1h}"
        )
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            """,
            in: namespace
        )
        #expect(try named(daemon) == "127.0.0.2:80, 127.0.0.3:80")
        try waitForProbe(of: service)
        let reply = try daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"], "\(reply.text)")
        #expect(try service.lookups() == 1)
        #expect(try start.lookups() == 0)
        try service.misbehave("status=500")
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try start.lookups() == 1)
        try daemon.stop()
    }

    @Test(
        "the daemon calls the servers that Alibaba's /ss lists, and signs its request to /ss",
        .needs(.curl, .dig)
    )
    func schedule() throws {
        let service = try TestEmulator(zone: ProgramHarness.zone)
        let start = try TestEmulator(
            zone: ProgramHarness.zone,
            options: ["--ss-servers", service.address],
            listen: service.address.replacingOccurrences(of: "127.0.0.1:", with: "127.0.0.2:")
        )
        let scratch = try Scratch()
        let vendor = try AlibabaText(
            servers: [start.address],
            in: scratch,
            extra: "scheme: http",
            "schedule: on",
            "sdns: {city: hangzhou}"
        )
        let daemon = try TestDaemon(vendor.text)
        #expect(try named(daemon) == service.address)
        try waitForProbe(of: service)
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try service.calls()["last", "parameters", "sdns-city"].string == "hangzhou")
        #expect(try start.lookups() == 0)
        #expect(try start.calls()["channels", "alibaba-ss-signed"].int == 1)
        try service.misbehave("error=ServiceLevelDeny")
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try start.lookups() == 1)
        try daemon.stop()
    }
}

@Suite(
    "Alibaba's certificate may have either of two names",
    .needs(.nginx, .openssl, .curl, .dig),
    .hangLimit
)
struct CertificateNameTests {
    private func answers(
        _ names: [String],
        _ options: String...
    ) throws -> (addresses: [String], lookups: Int) {
        let emulator = try TestEmulator(zone: ProgramHarness.zone)
        let site = TestNginx.Site(
            // nginx's configuration needs a name; no client sends it.
            names: names + ["DNS:front.example.net"],
            content: TestNginx.Site.front().content
        )
        let front = try TestNginx([site], backend: emulator.address, authority: Authority())
        let scratch = try Scratch()
        let vendor = try AlibabaText(
            servers: ["127.0.0.1:\(front.port)"],
            in: scratch,
            extra: (["ca-file: \(front.authority.file)"] + options).joined(separator: "\n    ")
        )
        let daemon = try TestDaemon(vendor.text)
        let found = try daemon.dig("www.example.com", "A").data("A")
        try daemon.stop()
        return (found, try emulator.lookups())
    }

    @Test(
        "without `tls-name`, the daemon accepts a certificate with either name",
        arguments: ["DNS:resolvers.httpdns.aliyuncs.com", "IP:203.107.1.1"]
    )
    func either(name: String) throws {
        let good = ["192.0.2.1", "192.0.2.2"]
        #expect(try answers([name]) == (good, 1))
        let said = String(name.split(separator: ":")[1])
        #expect(try answers([name], "tls-name: \(said)") == (good, 1))
        let other =
            name.hasPrefix("IP:") ? "resolvers.httpdns.aliyuncs.com" : "203.107.1.1"
        #expect(try answers([name], "tls-name: \(other)") == ([], 0))
    }
}
