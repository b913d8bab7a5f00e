// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Vendor options", .needs(.dig, .nsd, .curl), .hangLimit)
struct VendorOptionTests {
    @Test(
        "the daemon detects and remembers the form of authentication that the vendor accepts",
        arguments: [VendorText.Channel.aes, .https],
        [("off", "--require-expiry"), ("on", "--refuse-expiry")]
    )
    func otherForm(channel: VendorText.Channel, account: (setting: String, wants: String)) throws {
        let harness = try ProgramHarness(
            channel,
            vendor: "auth-expiry: \(account.setting)",
            emulator: [account.wants]
        )
        #expect(try harness.daemon.dig("www.example.com", "A").data("A").count == 2)
        #expect(try harness.daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        let channels = try harness.emulator.calls()["channels"]
        #expect(channels["tencent-refused"].int == 1)
        #expect(channels.sum == 3)
        #expect(try harness.daemon.control("status").status == 0)
        try harness.daemon.stop()
    }

    @Test(
        "the daemon tries the configured form of authentication first",
        arguments: [("on", "--require-expiry"), ("off", "--refuse-expiry")]
    )
    func configuredForm(setting: String, wants: String) throws {
        let harness = try ProgramHarness(vendor: "auth-expiry: \(setting)", emulator: [wants])
        #expect(try harness.daemon.dig("www.example.com", "A").data("A").count == 2)
        #expect(try harness.emulator.calls()["channels"].keys == ["tencent-aes"])
        try harness.daemon.stop()
    }
}

@Suite("Vendor calls through a proxy", .needs(.unshare, .ip, .dig, .curl, .tinyproxy), .hangLimit)
struct ProxyTests {
    /// Proxy (tinyproxy) that tunnels only to port 443, as is Debian's default.
    private final class Proxy {
        let program: Child
        private let scratch: Scratch

        init(in namespace: Namespace) throws {
            scratch = try Scratch()
            let file = try scratch.write(
                "Port 3128\nListen 127.0.0.1\nTimeout 20\nLogLevel Info\nConnectPort 443\n",
                to: "tinyproxy.conf"
            )
            program = try Child("tinyproxy", ["-d", "-c", file], in: namespace)
            _ = try program.line(with: "Accepting connections")
        }

        func stop() throws -> [String] {
            let end = try program.stop()
            return (end.output + end.errors).split(separator: "\n").compactMap { line in
                line.contains("Request (") ? line.components(separatedBy: "): ").last : nil
            }
        }
    }

    private func answer(
        _ vendor: VendorText,
        in namespace: Namespace
    ) throws -> (addresses: [String], requests: [String]) {
        let proxy = try Proxy(in: namespace)
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            """,
            in: namespace
        )
        let found = try daemon.dig("www.example.com", "A").data("A")
        try daemon.stop()
        return (found, try proxy.stop())
    }

    @Test("the daemon sends plain HTTP calls to the proxy, which forwards them")
    func forward() throws {
        let namespace = try Namespace()
        let emulator = try TestEmulator(zone: ProgramHarness.zone, in: namespace)
        let scratch = try Scratch()
        let vendor = try VendorText(
            .aes,
            servers: [emulator.address],
            in: scratch,
            extra: "proxy: http://127.0.0.1:3128"
        )
        let (addresses, requests) = try answer(vendor, in: namespace)
        #expect(addresses == ["192.0.2.1", "192.0.2.2"])
        #expect(requests.count == 1)
        #expect(requests.first?.hasPrefix("GET http://\(emulator.address)/d?dn=") == true)
    }

    @Test(
        "the daemon tunnels TLS through the proxy, and checks the vendor's certificate",
        .needs(.nginx, .openssl)
    )
    func tunnel() throws {
        let namespace = try Namespace()
        let emulator = try TestEmulator(zone: ProgramHarness.zone, in: namespace)
        let authority = try Authority()
        let front = try TestNginx(
            [.front()],
            backend: emulator.address,
            authority: authority,
            listen: ["127.0.0.1:443"],
            in: namespace
        )
        for (file, expected) in [(authority.file, ["192.0.2.1", "192.0.2.2"]), (nil, [])] {
            let scratch = try Scratch()
            let vendor = try VendorText(
                .https,
                servers: ["127.0.0.1"],
                in: scratch,
                authority: file,
                extra: "proxy: http://127.0.0.1:3128"
            )
            let (addresses, requests) = try answer(vendor, in: namespace)
            #expect(addresses == expected)
            #expect(requests == ["CONNECT 127.0.0.1:443 HTTP/1.1"])
        }
        withExtendedLifetime(front) {}
    }

    @Test("if the proxy is unreachable, the daemon treats the vendor as unreachable")
    func gone() throws {
        let namespace = try Namespace()
        let emulator = try TestEmulator(zone: ProgramHarness.zone, in: namespace)
        let scratch = try Scratch()
        let vendor = try VendorText(
            .aes,
            servers: [emulator.address],
            in: scratch,
            extra: "proxy: http://127.0.0.1:9"
        )
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            """,
            in: namespace
        )
        #expect(try daemon.dig("www.example.com", "A").status == "SERVFAIL")
        #expect(try emulator.lookups() == 0)
        try daemon.stop()
    }
}
