// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Names and types with local answers (RFC 6761, RFC 6303, RFC 8482)")
struct SpecialNamesTests {
    private static let reverse6 = String(repeating: "0.", count: 31) + "ip6.arpa"

    private static let soa = "SOA localhost. nobody.invalid. 1 3600 1200 604800 10800"

    /// Queries that the daemon must answer locally.
    ///
    /// In addition to the RFCs in the name of the suite: RFC 7686, RFC 6762 §22.1, RFC 9476,
    /// RFC 8375, RFC 7793, RFC 9462 §6.4.
    private static let here: [(String, RecordType, RCode, answer: String?, zone: String?)] = [
        ("localhost", .a, .noError, "A 127.0.0.1", nil),
        ("LocalHost", .aaaa, .noError, "AAAA ::1", nil),
        ("www.app.localhost", .a, .noError, "A 127.0.0.1", nil),
        ("localhost", .mx, .noError, nil, "localhost"),
        ("www.localhost", .https, .noError, nil, "localhost"),
        ("invalid", .a, .nxDomain, nil, "invalid"),
        ("www.invalid", .txt, .nxDomain, nil, "invalid"),
        ("www.test", .a, .nxDomain, nil, "test"),
        ("x.ONION", .aaaa, .nxDomain, nil, "onion"),
        ("printer.local", .a, .nxDomain, nil, "local"),
        ("_http._tcp.local", .ptr, .nxDomain, nil, "local"),
        ("x.alt", .a, .nxDomain, nil, "alt"),
        ("nas.home.arpa", .a, .nxDomain, nil, "home.arpa"),
        ("1.0.0.127.in-addr.arpa", .ptr, .noError, "PTR localhost.", nil),
        ("1." + reverse6, .ptr, .noError, "PTR localhost.", nil),
        ("2.0.0.127.in-addr.arpa", .ptr, .nxDomain, nil, "127.in-addr.arpa"),
        ("1.0.0.127.in-addr.arpa", .txt, .noError, nil, "127.in-addr.arpa"),
        ("0.127.in-addr.arpa", .ptr, .noError, nil, "127.in-addr.arpa"),
        ("127.in-addr.arpa", .soa, .noError, soa, nil),
        ("10.in-addr.arpa", .soa, .noError, soa, nil),
        ("home.arpa", .soa, .noError, soa, nil),
        ("0." + reverse6, .ptr, .noError, nil, "0." + reverse6),
        ("1.2.3.10.in-addr.arpa", .ptr, .nxDomain, nil, "10.in-addr.arpa"),
        ("1.1.16.172.in-addr.arpa", .ptr, .nxDomain, nil, "16.172.in-addr.arpa"),
        ("1.1.31.172.in-addr.arpa", .ptr, .nxDomain, nil, "31.172.in-addr.arpa"),
        ("1.1.168.192.in-addr.arpa", .ptr, .nxDomain, nil, "168.192.in-addr.arpa"),
        ("1.1.254.169.in-addr.arpa", .ptr, .nxDomain, nil, "254.169.in-addr.arpa"),
        ("255.255.255.255.in-addr.arpa", .ptr, .noError, nil, "255.255.255.255.in-addr.arpa"),
        ("10.in-addr.arpa", .ns, .noError, nil, "10.in-addr.arpa"),
        ("home.arpa", .a, .noError, nil, "home.arpa"),
        ("1.0.64.100.in-addr.arpa", .ptr, .nxDomain, nil, "64.100.in-addr.arpa"),
        ("1.0.8.e.f.ip6.arpa", .ptr, .nxDomain, nil, "8.e.f.ip6.arpa"),
        ("0.0.d.f.ip6.arpa", .ptr, .nxDomain, nil, "d.f.ip6.arpa"),
        ("0.8.b.d.0.1.0.0.2.ip6.arpa", .ptr, .nxDomain, nil, "8.b.d.0.1.0.0.2.ip6.arpa"),
        ("0.0.c.f.ip6.arpa", .ptr, .nxDomain, nil, "c.f.ip6.arpa"),
        ("1.b.e.f.ip6.arpa", .ptr, .nxDomain, nil, "b.e.f.ip6.arpa"),
        ("1.9.e.f.ip6.arpa", .ptr, .nxDomain, nil, "9.e.f.ip6.arpa"),
        ("1.a.e.f.ip6.arpa", .ptr, .nxDomain, nil, "a.e.f.ip6.arpa"),
        ("1.0.0.0.in-addr.arpa", .ptr, .nxDomain, nil, "0.in-addr.arpa"),
        ("1.2.0.192.in-addr.arpa", .ptr, .nxDomain, nil, "2.0.192.in-addr.arpa"),
        ("1.100.51.198.in-addr.arpa", .ptr, .nxDomain, nil, "100.51.198.in-addr.arpa"),
        ("1.113.0.203.in-addr.arpa", .ptr, .nxDomain, nil, "113.0.203.in-addr.arpa"),
        ("1.0.127.100.in-addr.arpa", .ptr, .nxDomain, nil, "127.100.in-addr.arpa"),
        ("resolver.arpa", .a, .noError, nil, "resolver.arpa"),
        ("_dns.resolver.arpa", .svcb, .noError, nil, "resolver.arpa"),
        ("printer", .a, .nxDomain, nil, "."),
        ("printer", .aaaa, .nxDomain, nil, "."),
        ("printer", .https, .nxDomain, nil, "."),
    ]

    @Test(arguments: here.indices)
    @ServiceLoop
    func `special names are answered locally, without upstream queries`(_ index: Int) async throws {
        let (name, type, rcode, expected, zone) = Self.here[index]
        let harness = try ResolverHarness()
        let answer = try await harness.ask(try Name(name), type)
        #expect(answer.rcode == rcode, "\(name) \(type)")
        #expect(answer.answers == [expected].compactMap(\.self), "\(name) \(type)")
        #expect(answer.zone == (try zone.map { try Name($0) }), "\(name) \(type)")
        let asked = try Name(name)
        #expect(answer.message.answers.allSatisfy { $0.name == asked })
        #expect(answer.resolution.provenance == .local)
        #expect(answer.resolution.variant == .any)
        #expect(harness.upstream?.asked == [])
        #expect(harness.cache.numbers.entries == 0)
    }

    // These names are not special. The list includes `ipv4only.arpa`, which is forwarded
    // (RFC 8880 §7.1).
    @Test(arguments: [
        ("localhost.example.com", RecordType.a), ("mylocal.example.com", .a),
        ("notlocalhost.", .mx), ("com", .ns), ("com", .ds), (".", .ns), (".", .a),
        ("home.arpa", .ds), ("1.0.63.100.in-addr.arpa", .ptr), ("1.0.128.100.in-addr.arpa", .ptr),
        ("0.0.e.f.ip6.arpa", .ptr), ("c.e.f.ip6.arpa", .ptr), ("example", .txt),
        ("170.0.0.192.in-addr.arpa", .ptr), ("ipv4only.arpa", .a),
        ("1.1.15.172.in-addr.arpa", .ptr), ("1.1.32.172.in-addr.arpa", .ptr),
        ("1.2.0.192.in-addr.arpa.example.com", .ptr), ("8.8.8.8.in-addr.arpa", .ptr),
        ("ipv4only.arpa", .aaaa), ("arpa", .ns), ("x.tests.example", .a),
    ])
    @ServiceLoop
    func `names that resemble special names are forwarded`(
        _ name: String,
        _ type: RecordType
    ) async throws {
        let harness = try ResolverHarness()
        _ = try await harness.ask(try Name(name), type)
        #expect(harness.upstream?.sent.map(\.question.type) == [type])
        #expect(harness.upstream?.sent.map(\.question.name) == [try Name(name)])
    }

    @Test(arguments: [
        (RecordType.axfr, RCode.refused), (.ixfr, .refused),
        (RecordType(rawValue: 0), .formErr), (.opt, .formErr),
        (RecordType(rawValue: 249), .notImp), (.tsig, .notImp),
        (RecordType(rawValue: 253), .notImp), (RecordType(rawValue: 254), .notImp),
    ])
    @ServiceLoop
    func `queries for meta types are refused`(_ type: RecordType, _ rcode: RCode) async throws {
        let harness = try ResolverHarness()
        for name in ["www.example.com", "localhost"] as [Name] {
            let answer = try await harness.ask(name, type)
            #expect(answer.rcode == rcode)
            #expect(answer.answers.isEmpty)
            #expect(answer.resolution.lifetime == 0)
        }
        #expect(harness.upstream?.asked == [])
    }
}

@Suite("Route selection by name")
struct RouteTableTests {
    private static func route(_ place: String) -> Route {
        Route(
            place: place,
            vendors: [],
            upstreams: nil,
            fallsBack: true,
            allowsPrivateAnswers: false
        )
    }

    private static let table: RouteTable = {
        var table = RouteTable()
        table.add(
            route("suffix"),
            for: [.suffix("example.com")],
            except: [
                .suffix("internal.example.com"), .exact("free.example.com"),
                .below("b.example.com"),
            ]
        )
        table.add(
            route("exact"),
            for: [.exact("only.example.com"), .exact("this.example.org")],
            except: []
        )
        table.add(
            route("below"),
            for: [.below("below.example.com"), .below("below.example.org")],
            except: []
        )
        table.add(route("deep"), for: [.suffix("deep.internal.example.com")], except: [])
        table.add(
            route("both"),
            for: [.suffix("s.example.net"), .below("s.example.net")],
            except: []
        )
        table.add(
            route("late"),
            for: [.suffix("example.com"), .suffix("late.example.com")],
            except: []
        )
        return table
    }()

    @Test(
        arguments: [
            ("example.com", "suffix", "example.com"), ("www.example.com", "suffix", "example.com"),
            ("a.B.c.EXAMPLE.com", "suffix", "example.com"),
            ("myexample.com", nil, nil), ("com", nil, nil), (".", nil, nil),
            ("example.org", nil, nil),
            ("internal.example.com", nil, nil), ("x.internal.example.com", nil, nil),
            ("free.example.com", nil, nil), ("x.free.example.com", "suffix", "example.com"),
            ("b.example.com", "suffix", "example.com"), ("x.b.example.com", nil, nil),
            ("only.example.com", "exact", "only.example.com"),
            ("x.only.example.com", "suffix", "example.com"),
            ("this.example.org", "exact", "this.example.org"), ("x.this.example.org", nil, nil),
            ("below.example.com", "suffix", "example.com"),
            ("x.below.example.com", "below", "below.example.com"),
            ("x.y.below.example.com", "below", "below.example.com"),
            ("below.example.org", nil, nil), ("x.below.example.org", "below", "below.example.org"),
            ("deep.internal.example.com", "deep", "deep.internal.example.com"),
            ("x.deep.internal.example.com", "deep", "deep.internal.example.com"),
            ("s.example.net", "both", "s.example.net"),
            ("x.s.example.net", "both", "s.example.net"),
            ("x.late.example.com", "late", "late.example.com"),
        ] as [(String, String?, String?)]
    )
    func `the most specific pattern wins, and exceptions exclude names`(
        _ name: String,
        _ place: String?,
        _ domain: String?
    ) throws {
        let match = Self.table.route(for: try Name(name))
        #expect(match?.route.place == place)
        #expect(match?.domain == (try domain.map { try Name($0) }))
    }

    @Test
    func `a route for the root matches every name`() {
        var table = RouteTable()
        #expect(table.route(for: "www.example.com")?.domain == nil)
        table.add(Self.route("all"), for: [.suffix(.root)], except: [])
        #expect(table.route(for: "www.example.com")?.route.place == "all")
        #expect(table.route(for: .root)?.route.place == "all")
    }
}
