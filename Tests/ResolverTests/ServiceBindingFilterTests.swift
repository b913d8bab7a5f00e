// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

extension ServiceKey {
    fileprivate static let unknown = ServiceKey(rawValue: 65_000)
}

extension Record {
    fileprivate static func https(
        _ name: Name,
        priority: UInt16 = 1,
        target: Name = .root,
        v4: [String]? = ["198.51.100.1"],
        v6: [String]? = ["2001:db8:99::1"],
        mandatory: [ServiceKey] = [],
        ttl: UInt32 = 300
    ) -> Record {
        var parameters: [ServiceBinding.Parameter] = [
            .init(key: .alpn, value: [2] + Array("h2".utf8)),
            .init(key: .ech, value: [0, 1, 2]),
            .init(key: .unknown, value: [9, 8, 7]),
        ]
        if !mandatory.isEmpty {
            let value = mandatory.flatMap { [UInt8($0.rawValue >> 8), UInt8($0.rawValue & 0xFF)] }
            parameters.append(.init(key: .mandatory, value: value))
        }
        for (key, texts) in [(ServiceKey.ipv4Hint, v4), (.ipv6Hint, v6)] {
            guard let texts else { continue }
            let value = texts.flatMap { IPAddress($0)?.octets ?? [1, 2, 3] }
            parameters.append(.init(key: key, value: value))
        }
        return Record(
            name: name,
            type: .https,
            ttl: ttl,
            data: .svcb(
                ServiceBinding(
                    priority: priority,
                    target: target,
                    parameters: priority == 0 ? [] : parameters
                )
            )
        )
    }
}

extension ScriptedUpstream {
    fileprivate static func binding(_ records: [Record]) -> ScriptedUpstream {
        ScriptedUpstream { (message) throws(UpstreamError) in
            guard let question = message.questions.first else { return }
            switch question.type {
            case .a: message.answers = [.a(question.name, 0xC633_6463)]
            case .aaaa: message.answers = [.aaaa(question.name, 0x99)]
            default: message.answers = records
            }
        }
    }
}

@Suite("Address hints in HTTPS and SVCB records of names with vendors (RFC 9460)")
struct ServiceBindingFilterTests {
    private static let before = "1 . alpn=h2 ipv4hint=198.51.100.1 ech=AAEC"
    private static let theirs = "HTTPS \(before) ipv6hint=2001:db8:99::1 key65000=\\009\\008\\007"
    private static let bare = "HTTPS 1 . alpn=h2 ech=AAEC key65000=\\009\\008\\007"

    private static func policy(
        _ bindings: AnswerPolicy.ServiceBindings,
        suppressesAAAA: Bool = false
    ) -> AnswerPolicy {
        var policy = AnswerPolicy()
        policy.serviceBindings = bindings
        policy.suppressesAAAA = suppressesAAAA
        return policy
    }

    @Test
    @ServiceLoop
    func `hints equal to the cached addresses get the TTL of these addresses`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https(
                    "www.example.com",
                    v4: ["192.0.2.101", "192.0.2.102"],
                    v6: ["2001:db8::101"]
                )
            ])
        )
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(10))
        let answer = try await harness.ask("www.example.com", .https)
        #expect(answer.message.answers.map(\.ttl) == [50])
        #expect(answer.resolution.lifetime == 50)
    }

    @Test
    @ServiceLoop
    func `a family without addresses has no hint, and a record without hints gets none`()
        async throws
    {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https("four.example.com"),
                .https("four.example.com", priority: 2, v4: nil, v6: nil),
            ])
        )
        _ = try await harness.ask("four.example.com")
        #expect(
            try await harness.ask("four.example.com", .https).plain == [
                "HTTPS 1 . alpn=h2 ipv4hint=192.0.2.104 ech=AAEC key65000=\\009\\008\\007",
                "HTTPS 2 . alpn=h2 ech=AAEC key65000=\\009\\008\\007",
            ]
        )
    }

    @Test
    @ServiceLoop
    func `the key of a removed hint is removed from the mandatory parameter`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https("www.example.com", mandatory: [.alpn, .ipv4Hint]),
                .https("www.example.com", priority: 2, mandatory: [.ipv4Hint]),
            ])
        )
        #expect(
            try await harness.ask("www.example.com", .https).plain == [
                "HTTPS 1 . mandatory=alpn alpn=h2 ech=AAEC key65000=\\009\\008\\007",
                "HTTPS 2 . alpn=h2 ech=AAEC key65000=\\009\\008\\007",
            ]
        )
        _ = try await harness.ask("www.example.com")
        harness.cache.remove(.name("www.example.com", .https), now: harness.world.now)
        let aligned = try await harness.ask("www.example.com", .https).plain
        #expect(aligned.first?.hasPrefix("HTTPS 1 . mandatory=alpn,ipv4hint alpn=h2") == true)
    }

    @Test
    @ServiceLoop
    func `hints are addresses of the target, or are removed without a vendor route`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https("www.example.com", priority: 1, target: "four.example.com"),
                .https("www.example.com", priority: 2, target: "cdn.example.net"),
            ])
        )
        _ = try await harness.ask("www.example.com")
        _ = try await harness.ask("four.example.com")
        _ = try await harness.ask("cdn.example.net")
        #expect(
            try await harness.ask("www.example.com", .https).plain == [
                "HTTPS 1 four.example.com. alpn=h2 ipv4hint=192.0.2.104 ech=AAEC "
                    + "key65000=\\009\\008\\007",
                "HTTPS 2 cdn.example.net. alpn=h2 ech=AAEC key65000=\\009\\008\\007",
            ]
        )
    }

    @Test
    @ServiceLoop
    func `behind an alias, hints are removed although the query name has cached addresses`()
        async throws
    {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .cname("www.example.com", "cdn.example.net"), .https("cdn.example.net"),
            ])
        )
        _ = try await harness.ask("www.example.com")
        let answer = try await harness.ask("www.example.com", .https)
        #expect(answer.plain == ["CNAME cdn.example.net.", Self.bare])
    }

    @Test
    @ServiceLoop
    func `a record in alias mode is passed unchanged`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https("www.example.com", priority: 0, target: "cdn.example.net")
            ])
        )
        let answers = try await harness.ask("www.example.com", .https).plain
        #expect(answers == ["HTTPS 0 cdn.example.net."])
    }

    @Test
    @ServiceLoop
    func `hints in alias mode are removed`() async throws {
        let binding = ServiceBinding(
            priority: 0,
            target: "cdn.example.net",
            parameters: [.init(key: .ipv4Hint, value: [192, 168, 1, 1])]
        )
        let record = Record(name: "www.example.com", type: .https, ttl: 300, data: .svcb(binding))
        let harness = try ResolverHarness(.tencent, upstream: .binding([record]))
        let answers = try await harness.ask("www.example.com", .https).plain
        #expect(answers == ["HTTPS 0 cdn.example.net."])
    }

    @Test
    @ServiceLoop
    func `names without a route pass, but hints for a name with a vendor route are removed`()
        async throws
    {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([
                .https("www.example.org"),
                .https("www.example.org", priority: 2, target: "www.example.com"),
            ])
        )
        #expect(
            try await harness.ask("www.example.org", .https).plain == [
                Self.theirs,
                "HTTPS 2 www.example.com. alpn=h2 ech=AAEC key65000=\\009\\008\\007",
            ]
        )
    }

    @Test
    @ServiceLoop
    func `a large answer keeps all records, and those of names without a route stay unchanged`()
        async throws
    {
        for name: Name in ["www.example.com", "www.example.org"] {
            let records = (1...UInt16(AddressFilter.mostReplacements + 36)).map {
                Record.https(name, priority: $0, v6: nil)
            }
            let harness = try ResolverHarness(.tencent, upstream: .binding(records))
            _ = try await harness.ask("www.example.com")
            let answers = try await harness.ask(name, .https).message.answers
            #expect(answers.count == records.count)
            guard name == "www.example.com" else {
                #expect(answers.map(\.data) == records.map(\.data))
                let signed = try await harness.ask(name, .https, dnssecOK: true).message.answers
                #expect(signed.map(\.data) == records.map(\.data))
                continue
            }
            let hints = answers.map { record -> [IPAddress]? in
                guard case .svcb(let binding) = record.data else { return nil }
                return binding.addresses(of: .ipv4Hint)
            }
            let ours = ["192.0.2.101", "192.0.2.102"].compactMap { IPAddress($0) }
            #expect(hints.prefix(AddressFilter.mostReplacements).allSatisfy { $0 == ours })
            #expect(hints.dropFirst(AddressFilter.mostReplacements).allSatisfy { $0 == nil })
        }
    }

    @Test
    @ServiceLoop
    func `hints for a name in a hosts file are the addresses in this file`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([.https("www.example.org", target: "printer.lan")])
        )
        harness.resolver.use(HostsTable.of("192.0.2.9 printer.lan"))
        let answer = try await harness.ask("www.example.org", .https)
        #expect(
            answer.plain == [
                "HTTPS 1 printer.lan. alpn=h2 ipv4hint=192.0.2.9 ech=AAEC key65000=\\009\\008\\007"
            ]
        )
        #expect(answer.resolution.lifetime == 10)
    }

    @Test
    @ServiceLoop
    func `a hint of invalid length is replaced`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([.https("www.example.com", v4: ["nonsense"], v6: ["nonsense"])])
        )
        #expect(try await harness.ask("www.example.com", .https).plain == [Self.bare])
    }

    @Test
    @ServiceLoop
    func `a record that must be altered is NODATA for queries with DO`() async throws {
        let harness = try ResolverHarness(.tencent, upstream: .binding([.https("www.example.com")]))
        let signed = try await harness.ask("www.example.com", .https, dnssecOK: true)
        #expect(signed.rcode == .noError && signed.answers.isEmpty)
        #expect(signed.zone == "example.com")
        #expect(signed.resolution.explanation?.code == .synthesized)
        #expect(harness.upstream?.asked == [])
        #expect(try await harness.ask("www.example.com", .https).plain == [Self.bare])
        let other = try ResolverHarness(.tencent, upstream: .binding([.https("www.example.org")]))
        let untouched = try await other.ask("www.example.org", .https, dnssecOK: true)
        #expect(untouched.plain == [Self.theirs])
        let leading = try ResolverHarness(
            .tencent,
            upstream: .binding([.https("www.example.org", target: "www.example.com")])
        )
        let denied = try await leading.ask("www.example.org", .https, dnssecOK: true)
        #expect(denied.rcode == .noError && denied.answers.isEmpty)
        #expect(denied.zone == "www.example.org")
    }

    @Test(arguments: [RecordType.https, .svcb])
    @ServiceLoop
    func `in mode block, an HTTPS or SVCB query for a name with a vendor gets NODATA`(
        _ type: RecordType
    ) async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([.https("www.example.org")]),
            answers: Self.policy(.block)
        )
        try await harness.expect(
            "www.example.com",
            type,
            story: """
                NOERROR from httpdnsd after 0 ms
                EDE 15: this server blocks HTTPS and SVCB records
                authority: SOA example.com. 5 5
                kept: \(type) NODATA 5
                """
        )
        #expect(try await harness.ask("www.example.org", .https).plain == [Self.theirs])
    }

    @Test
    @ServiceLoop
    func `with AAAA suppressed, every AAAA query is NODATA, and A is answered`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            answers: Self.policy(.align, suppressesAAAA: true)
        )
        harness.resolver.use(HostsTable.of("2001:db8::9 six.lan"))
        try await harness.expect(
            "www.example.com",
            story: """
                NOERROR from tencent/192.0.2.11:443 after 20 ms
                answer: A 192.0.2.101 60, A 192.0.2.102 60
                asked: tencent 1 at 0
                kept: A 60
                billed: tencent 1
                """,
            "the AAAA answer of the same call is not cached: a worker would serve it"
        )
        for (name, zone) in [
            ("www.example.com", "example.com"), ("www.example.org", "www.example.org"),
        ] {
            try await harness.expect(
                try Name(name),
                .aaaa,
                story: """
                    NOERROR from httpdnsd after 0 ms
                    EDE 29: this server suppresses AAAA records
                    authority: SOA \(zone). 300 300
                    \(name == "www.example.com" ? "kept: A 60" : "")
                    """.trimmed
            )
        }
        #expect(try await harness.ask("six.lan", .aaaa).plain == ["AAAA 2001:db8::9"])
        #expect(try await harness.ask("localhost", .aaaa).plain == ["AAAA ::1"])
    }

    @Test
    @ServiceLoop
    func `with AAAA suppressed, no HTTPS answer has an IPv6 hint`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: .binding([.https("www.example.org"), .https("www.example.com")]),
            answers: Self.policy(.forward, suppressesAAAA: true)
        )
        for name in ["www.example.org", "www.example.com"] as [Name] {
            let answer = try await harness.ask(name, .https)
            #expect(answer.plain == ["HTTPS \(Self.before) key65000=\\009\\008\\007"])
            let signed = try await harness.ask(name, .https, dnssecOK: true)
            #expect(signed.plain == [Self.theirs])
        }
    }

    @Test
    @ServiceLoop
    func `a restored answer that the settings now produce locally is removed`() async throws {
        let harness = try ResolverHarness(.tencent)
        _ = try await harness.ask("www.example.com")
        let now = try ResolverHarness(.tencent, answers: Self.policy(.align, suppressesAAAA: true))
        for type in [RecordType.a, .aaaa] {
            let question = Question(name: "www.example.com", type: type)
            let kept = harness.cache.freshAnswer(
                for: question,
                variant: .any,
                now: harness.world.now
            )
            now.cache.insert(try #require(kept).answer, now: now.world.now)
        }
        #expect(now.cached("www.example.com") == ["A 2", "AAAA 1"])
        now.resolver.use(HostsTable())
        #expect(now.cached("www.example.com") == ["A 2"])
    }
}

extension Answer {
    fileprivate var plain: [String] { answers.map { $0.replacing("\"", with: "") } }
}

extension String {
    fileprivate var trimmed: String { hasSuffix("\n") ? String(dropLast()) : self }
}
