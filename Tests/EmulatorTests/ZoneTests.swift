// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Zone file")
struct ZoneTests {
    private let text = """
        ; comment
        www.example.com.  300 A    192.0.2.1   ; first
        WWW.example.com    60 a    192.0.2.2
        www.example.com   600 AAAA 2001:DB8::0:1
        a.b.example.com    60 A    192.0.2.3
        *.example.com      60 A    192.0.2.4

        none.example.com  empty
        """

    @Test func `records keep their order and text, and a record set has the smallest TTL`() throws {
        let zone = try Zone(text: text)
        #expect(zone.count == 4)
        #expect(
            zone.answer("www.EXAMPLE.com", .v4, for: nil)
                == .init(addresses: ["192.0.2.1", "192.0.2.2"], ttl: 60)
        )
        #expect(
            zone.answer("www.example.com.", .v6, for: nil)
                == .init(addresses: ["2001:DB8::0:1"], ttl: 600)
        )
    }

    @Test func `a wildcard covers names that do not exist (RFC 4592 §3.3.1)`() throws {
        let zone = try Zone(text: text)
        #expect(zone.answer("x.example.com", .v4, for: nil).addresses == ["192.0.2.4"])
        #expect(zone.answer("y.x.example.com", .v4, for: nil).addresses == ["192.0.2.4"])
        #expect(!zone.isRegistered("b.example.com"))
        #expect(!zone.isRegistered("c.b.example.com"))
        #expect(!zone.isRegistered("example.com"))
        #expect(!zone.isRegistered("example.org"))
    }

    @Test func `a name that the zone marks as empty is registered`() throws {
        let zone = try Zone(text: text)
        #expect(zone.isRegistered("none.example.com"))
        #expect(zone.answer("none.example.com", .v4, for: nil) == .init())
    }

    @Test func `aliases lead to addresses, with the smallest TTL of the chain`() throws {
        let zone = try Zone(
            text: """
                a.example.com    60 CNAME B.example.com.
                b.example.com    30 cname www.example.com
                www.example.com 300 A     192.0.2.1
                *.w.example.com  60 CNAME www.example.com
                out.example.com  60 CNAME elsewhere.example
                x.example.com    60 CNAME y.example.com
                y.example.com    60 CNAME x.example.com
                """
        )
        #expect(
            zone.answer("A.example.com", .v4, for: nil) == .init(addresses: ["192.0.2.1"], ttl: 30)
        )
        #expect(
            zone.chain("a.example.com")
                == .init(
                    links: [
                        .init(owner: "a.example.com", target: "b.example.com", ttl: 60),
                        .init(owner: "b.example.com", target: "www.example.com", ttl: 30),
                    ],
                    end: "www.example.com"
                )
        )
        #expect(zone.answer("z.w.example.com", .v4, for: nil).addresses == ["192.0.2.1"])
        #expect(zone.chain("out.example.com").end == "elsewhere.example")
        #expect(zone.isRegistered("out.example.com") && !zone.exists("elsewhere.example"))
        #expect(zone.exists("w.example.com") && !zone.isRegistered("w.example.com"))
        #expect(zone.chain("x.example.com").end == nil)
        #expect(zone.answer("x.example.com", .v4, for: nil) == .init())
    }

    @Test(
        arguments: [
            (
                "a.example 1 CNAME b.example\na.example 1 A 192.0.2.1",
                "line 2: a.example has a CNAME"
            ),
            ("a.example 1 A 192.0.2.1\na.example 1 CNAME b.example", "line 2: a.example has rec"),
            ("a.example 1 CNAME b.example\nA.example 1 CNAME c.example", "line 2: A.example has"),
            ("a.example 1 CNAME a..b", "line 1: 'a..b' is not a name"),
            ("a.example 1 CNAME b.example subnet=::/0", "line 1: a CNAME record cannot"),
            ("www.example.com", "line 1: expected"),
            ("\nwww.example.com x A 192.0.2.1", "line 2: 'x' is not a TTL"),
            ("www.example.com 1 MX 192.0.2.1", "line 1: 'MX' is not A"),
            ("www.example.com 1 A ::1", "line 1: '::1' is not a valid address for type A"),
            ("www.example.com 1 A 192.0.2.1 subnet=1.2.3.4", "line 1: 'subnet=1.2.3.4'"),
            ("www.example.com 1 A 192.0.2.1 subnet=::/129", "line 1: 'subnet=::/129'"),
        ]
    )
    func `an invalid line is reported with its number`(_ text: String, _ message: String) {
        let error = #expect(throws: ZoneError.self) { try Zone(text: text) }
        #expect(error?.description.hasPrefix(message) == true, "\(String(describing: error))")
    }

    @Test func `a zone in JSON is served`() throws {
        let zone = try TemporaryFile(
            """
            {"www.example.com": {"A": ["192.0.2.7"], "AAAA": ["2001:db8::7"], "ttl": 30},
             "none.example.com": {"A": [], "AAAA": [], "ttl": 30}}
            """,
            suffix: ".json"
        )
        let emulator = try RunningEmulator("--zone", zone.path)
        #expect(
            try emulator.ask("www.example.com,none.example.com", "&type=addrs&ttl=1").text
                == "www.example.com.:192.0.2.7,30-2001:db8::7,30\nnone.example.com.:0-0"
        )
        let alias = #"{"a.example": {"CNAME": "b.example", "ttl": 5}}"#
        #expect(try Zone(json: Data(alias.utf8)).chain("a.example").end == "b.example")
        let both = #"{"a.example": {"CNAME": "b.example", "A": ["192.0.2.1"], "ttl": 5}}"#
        #expect(throws: ZoneError.self) { try Zone(json: Data(both.utf8)) }
        #expect(throws: ZoneError.self) { try Zone(json: Data("{\"a\": 1}".utf8)) }
        #expect(throws: ZoneError.self) {
            try Zone(json: Data("{\"a\": {\"A\": [\"::1\"], \"ttl\": 1}}".utf8))
        }
    }

    @Test func `SIGHUP reloads the zone`() throws {
        let zone = try TemporaryFile("www.example.com 60 A 192.0.2.1")
        let emulator = try RunningEmulator("--zone", zone.path)
        #expect(try emulator.ask("www.example.com").text == "192.0.2.1")

        try zone.write("www.example.com 60 A 192.0.2.2")
        emulator.send(SIGHUP)
        // 200 checks, each with a run of curl, take longer than the handling of the signal.
        for _ in 0..<200 where try emulator.calls().zone.generation < 2 { continue }
        #expect(try emulator.calls().zone == .init(generation: 2, names: 1))
        #expect(try emulator.ask("www.example.com").text == "192.0.2.2")
    }

    @Test func `an invalid zone leaves the earlier zone in force`() throws {
        let zone = try TemporaryFile("www.example.com 60 A 192.0.2.1")
        let emulator = try RunningEmulator("--zone", zone.path)
        try zone.write("www.example.com 60 A nonsense")
        let reply = try emulator.get("/_emulator/reload", "--request", "POST")
        #expect(reply.status == 400)
        #expect(reply.text.contains("line 1: 'nonsense' is not a valid address for type A"))
        #expect(try emulator.ask("www.example.com").text == "192.0.2.1")

        try zone.write("www.example.com 60 A 192.0.2.3")
        #expect(try emulator.get("/_emulator/reload", "--request", "POST").status == 200)
        #expect(try emulator.ask("www.example.com").text == "192.0.2.3")
    }
}
