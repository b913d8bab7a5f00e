// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

extension HostsTable {
    static func of(_ lines: String...) -> HostsTable {
        var table = HostsTable()
        for line in lines {
            let words = line.split(separator: " ")
            guard let address = words.first.flatMap({ IPAddress($0) }) else { continue }
            table.add(address, names: words.dropFirst().compactMap { try? Name($0) })
        }
        return table
    }
}

@Suite("Static hosts: names in hosts files and in the settings")
struct HostsTests {
    private static let table = HostsTable.of(
        "192.0.2.9 printer.lan printer",
        "192.0.2.10 printer.lan",
        "2001:db8::9 six.lan x.local",
        "192.0.2.9 other.lan",
        "127.0.0.1 localhost loop.lan",
        "::1 localhost ip6-localhost",
        "0.0.0.0 ads.example.org",
        "192.0.2.11 www.example.com mail.example.org",
        "10.1.2.3 Host.Corp.LAN"
    )

    private static let here: [(String, RecordType, answers: [String], zone: String?)] = [
        ("printer.lan", .a, ["A 192.0.2.9", "A 192.0.2.10"], nil),
        ("PRINTER.lan", .a, ["A 192.0.2.9", "A 192.0.2.10"], nil),
        ("printer.lan", .aaaa, [], "printer.lan"),
        ("printer.lan", .https, [], "printer.lan"),
        ("printer", .a, ["A 192.0.2.9"], nil),
        ("printer", .aaaa, [], "printer"),
        ("printer", .mx, [], "printer"),
        ("six.lan", .aaaa, ["AAAA 2001:db8::9"], nil),
        ("six.lan", .a, [], "six.lan"),
        ("x.local", .aaaa, ["AAAA 2001:db8::9"], nil),
        ("x.local", .txt, [], "x.local"),
        ("other.lan", .a, ["A 192.0.2.9"], nil),
        ("loop.lan", .a, ["A 127.0.0.1"], nil),
        ("ip6-localhost", .aaaa, ["AAAA ::1"], nil),
        ("ads.example.org", .a, ["A 0.0.0.0"], nil),
        ("ads.example.org", .aaaa, [], "ads.example.org"),
        ("www.example.com", .a, ["A 192.0.2.11"], nil),
        ("www.example.com", .svcb, [], "www.example.com"),
        ("9.2.0.192.in-addr.arpa", .ptr, ["PTR printer.lan."], nil),
        ("3.2.1.10.in-addr.arpa", .ptr, ["PTR Host.Corp.LAN."], nil),
        ("3.2.1.10.in-addr.arpa", .txt, [], "3.2.1.10.in-addr.arpa"),
        (
            "9." + String(repeating: "0.", count: 23) + "8.b.d.0.1.0.0.2.ip6.arpa", .ptr,
            ["PTR six.lan."], nil
        ),
    ]

    @Test(arguments: here.indices)
    @ServiceLoop
    func `hosts files take precedence over routes and special names`(_ index: Int) async throws {
        let (name, type, expected, zone) = Self.here[index]
        let harness = try ResolverHarness(.tencent)
        harness.resolver.use(Self.table)
        let answer = try await harness.ask(try Name(name), type)
        #expect(answer.rcode == .noError)
        #expect(answer.answers == expected)
        #expect(answer.zone == (try zone.map { try Name($0) }))
        let ttls = (answer.message.answers + answer.message.authorities).map(\.ttl)
        #expect(ttls.allSatisfy { $0 == 10 })
        #expect(harness.origin(answer) == "hosts")
        #expect(harness.world.sent.isEmpty && harness.upstream?.asked == [])
        #expect(harness.cache.numbers.entries == 0)
    }

    @Test(arguments: [
        ("localhost", RecordType.a, "A 127.0.0.1"), ("www.localhost", .a, "A 127.0.0.1"),
        ("localhost", .aaaa, "AAAA ::1"),
        ("1.0.0.127.in-addr.arpa", .ptr, "PTR localhost."),
    ])
    @ServiceLoop
    func `localhost is a loopback address, whatever a hosts file contains`(
        _ name: String,
        _ type: RecordType,
        _ expected: String
    ) async throws {
        let harness = try ResolverHarness()
        harness.resolver.use(
            HostsTable.of(
                "192.0.2.1 localhost",
                "2001:db8::1 localhost www.localhost",
                "127.0.0.1 blocked.example.org"
            )
        )
        let answer = try await harness.ask(try Name(name), type)
        #expect(answer.answers == [expected])
        #expect(harness.resolver.hosts.count == 1)
    }

    @Test
    @ServiceLoop
    func `other types of a hosts name are forwarded, but an NXDOMAIN becomes NODATA`()
        async throws
    {
        let harness = try ResolverHarness(upstream: .denying(.nxDomain))
        harness.resolver.use(Self.table)
        for _ in 0..<2 {
            let answer = try await harness.ask("mail.example.org", .mx)
            #expect(answer.rcode == .noError)
            #expect(answer.answers.isEmpty)
        }
        #expect(harness.upstream?.asked.count == 1)
        #expect(harness.kept("mail.example.org") == ["MX NODATA 5"])
        #expect(try await harness.ask("unknown.example.org", .mx).rcode == .nxDomain)
        #expect(try await harness.ask("printer.lan", .any).answers.count == 1)
        #expect(try await harness.ask("printer.lan", .axfr).rcode == .refused)
    }

    @Test
    @ServiceLoop
    func `cached answers of a name in a new hosts table are removed, others stay`() async throws {
        let harness = try ResolverHarness(.tencent)
        _ = try await harness.ask("www.example.com")
        _ = try await harness.ask("four.example.com")
        #expect(harness.cached("www.example.com") == ["A 2", "AAAA 1"])
        harness.resolver.use(Self.table)
        #expect(harness.cached("www.example.com") == [])
        #expect(harness.cached("four.example.com") == ["A 1", "AAAA 0"])
        #expect(try await harness.ask("www.example.com").answers == ["A 192.0.2.11"])
        harness.resolver.use(HostsTable())
        #expect(try await harness.ask("www.example.com").answers.count == 2)
    }

    @Test
    @ServiceLoop
    func `an answer to a query that began before a hosts change is not cached`() async throws {
        let harness = try ResolverHarness(.tencent)
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(10))
        harness.resolver.use(Self.table)
        #expect(try await harness.answer(to: asked).answers == ["A 192.0.2.101", "A 192.0.2.102"])
        #expect(harness.kept("www.example.com") == [])
    }

    @Test
    func `records in the settings take precedence over hosts files`() {
        var table = HostsTable(records: [
            (name: "printer.lan", addresses: ["192.0.2.1"].compactMap { IPAddress($0) })
        ])
        table.add(.v4(IPv4Address(value: 0xC000_0209)), names: ["printer.lan", "b.lan"])
        #expect(table.addresses(of: "printer.lan")?.map(\.description) == ["192.0.2.1"])
        #expect(table.addresses(of: "b.lan")?.map(\.description) == ["192.0.2.9"])
        #expect(table.pointer("1.2.0.192.in-addr.arpa") == "printer.lan")
        #expect(table.pointer("9.2.0.192.in-addr.arpa") == nil)
    }

    @Test
    func `the hosts table has limits for names and addresses of one name`() throws {
        var table = HostsTable()
        for number in 0..<UInt32(HostsTable.mostAddresses + 7) {
            table.add(.v4(IPv4Address(value: 0xC000_0000 + number)), names: ["a.lan", "a.lan"])
        }
        #expect(table.addresses(of: "a.lan")?.count == HostsTable.mostAddresses)
        #expect(table.leftOut == 14)
        for number in 0..<HostsTable.mostNames + 1 {
            table.add(.v4(IPv4Address(value: 0)), names: [try Name("n\(number)")])
        }
        #expect(table.count == HostsTable.mostNames)
        #expect(table.leftOut == 16)
    }
}
