// SPDX-License-Identifier: Apache-2.0
import Testing

private final class Cable: Sendable {
    static let old = "192.0.2.10"
    static let new = "192.0.2.20"

    let machine: Namespace
    let emulator: TestEmulator
    let front: TestNginx
    let daemon: TestDaemon
    private let vendor: Namespace
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        (machine, vendor) = (try Namespace(), try Namespace())
        try machine.connect(to: vendor, "\(Self.old)/24", "192.0.2.1/24")
        emulator = try TestEmulator(zone: "*.example.com 300 A 192.0.2.77\n", in: vendor)
        let authority = try Authority()
        front = try TestNginx(
            [.front(for: ["IP:192.0.2.1", "DNS:vendor.example.net"])],
            backend: emulator.address,
            authority: authority,
            listen: ["192.0.2.1:443"],
            in: vendor
        )
        let text = try VendorText(
            .https,
            servers: ["192.0.2.1"],
            in: scratch,
            authority: authority.file
        )
        daemon = try TestDaemon(
            """
            \(text.text)
            routes: [{domains: ["."], vendors: [tencent], fallback: none}]
            upstreams: []
            """,
            listen: "127.0.0.1:53",
            in: machine
        )
    }

    /// Connections from the old address hang without an error.
    func swap() throws {
        try machine.ip(
            "address del \(Self.old)/24 dev cable",
            "address add \(Self.new)/24 dev cable"
        )
    }

    func network() throws -> JSON { try daemon.stats()["network"] }

    func counters() throws -> JSON { try #require(try daemon.stats()["vendors"].array.first) }
}

@Suite("Network changes", .needs(.unshare, .ip, .nginx, .openssl, .curl, .dig), .hangLimit)
struct NetworkChangeTests {
    @Test("after a change of this machine's address, a lookup takes less than 1 s")
    func swapped() throws {
        let cable = try Cable()
        for name in ["one", "two"] {
            #expect(try cable.daemon.dig("\(name).example.com", "A").data("A") == ["192.0.2.77"])
        }
        #expect(try cable.counters()["connections-reused"].int == 1)

        try cable.swap()
        // The client waits only 1 s, so a retry after the daemon's attempt timeout (2 s) is too late.
        let reply = try cable.daemon.dig("three.example.com", "A", "+time=1")
        #expect(reply.data("A") == ["192.0.2.77"], "\(reply.text)")

        let line = try cable.daemon.program.line(with: "got \(Cable.new)")
        #expect(line.contains("network changed: "))
        #expect(try cable.network()["changes"].int ?? 0 >= 1)
        #expect(try cable.network()["resumes"].int == 0)
        try cable.daemon.stop()
        let log = try cable.front.stop()
        #expect(log.map(\.httpVersion) == ["HTTP/2.0", "HTTP/2.0", "HTTP/2.0"])
        #expect(Set(log.map(\.connection)).count == 2)
    }

    @Test("after an address change, the daemon sends pending calls again over one new connection")
    func reissued() throws {
        let cable = try Cable()
        #expect(try cable.daemon.dig("warm.example.com", "A").data("A") == ["192.0.2.77"])
        try cable.emulator.misbehave("silent")
        let names = (1...5).map { "cold\($0).example.com" }
        let clients = try names.map { name in
            try Child(
                "dig",
                ["-r", "@127.0.0.1", "-p", "53", "+tries=1", "+time=6", "+short", name, "A"],
                in: cable.machine
            )
        }
        while try cable.emulator.lookups() < 1 + names.count {}
        try cable.emulator.misbehave()
        try cable.swap()
        for client in clients {
            #expect(try client.end().output == "192.0.2.77\n")
        }
        let counters = try cable.counters()
        #expect(counters["failures"].sum == 0, "\(counters)")
        #expect(try cable.daemon.control("status").status == 0)
        try cable.daemon.stop()
        #expect(Set(try cable.front.stop().map(\.connection)).count == 2)
    }
}
