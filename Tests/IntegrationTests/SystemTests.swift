// SPDX-License-Identifier: Apache-2.0
import Testing

private final class Machine: Sendable {
    static let addresses = ["192.0.2.10/32", "2001:db8::10/128"]

    let namespace: Namespace
    let emulator: TestEmulator
    let upstream: TestUpstream
    let authority: Authority
    let front: TestNginx
    let daemon: TestDaemon
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        namespace = try Namespace(addresses: Self.addresses)
        emulator = try TestEmulator(
            zone: """
                www.example.com 300 A 192.0.2.1
                www.example.com 300 A 192.0.2.2
                www.example.com 300 AAAA 2001:db8::1
                four.example.com 300 A 192.0.2.4
                one.example.com 300 A 192.0.2.10
                one.example.com 300 AAAA 2001:db8::10
                two.example.com 300 A 192.0.2.10
                two.example.com 300 AAAA 2001:db8::10

                """,
            in: namespace
        )
        upstream = try TestUpstream(in: namespace)
        authority = try Authority()
        front = try TestNginx(
            [.front()],
            backend: emulator.address,
            authority: authority,
            listen: ["127.0.0.1:443"],
            in: namespace
        )
        let vendor = try VendorText(
            .https,
            servers: ["127.0.0.1"],
            in: scratch,
            authority: authority.file
        )
        daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback-after: off}]
            \(upstream.text)
            """,
            listen: "127.0.0.1:53",
            in: namespace
        )
    }
}

@Suite(
    "HTTPS clients use the vendor's addresses",
    .needs(.unshare, .ip, .nsd, .nginx, .openssl, .curl),
    .hangLimit
)
struct PromiseTests {
    @Test("an HTTPS client connects to the vendor's address with the right SNI and certificate")
    func promise() throws {
        let machine = try Machine()
        let names = ["one.example.com", "two.example.com"]
        let sites = names.map { name in
            TestNginx.Site(names: ["DNS:\(name)"], content: "return 200 'this is $host';")
        }
        let web = try TestNginx(
            sites,
            authority: machine.authority,
            listen: ["192.0.2.10:443", "[2001:db8::10]:443"],
            in: machine.namespace
        )
        for family in ["--ipv4", "--ipv6"] {
            for name in names {
                let end = try machine.namespace.run(
                    "curl",
                    [
                        "--silent", "--show-error", family, "--cacert", machine.authority.file,
                        "--max-time", "10", "--write-out", " %{http_code} %{remote_ip}",
                        "https://\(name)/",
                    ]
                )
                let address = family == "--ipv4" ? "192.0.2.10" : "2001:db8::10"
                #expect(end.output == "this is \(name) 200 \(address)", "\(end.errors)")
            }
        }
        #expect(try machine.emulator.lookups() == 2)
        try machine.daemon.stop()
        #expect(try web.stop().count == 4)
    }
}
