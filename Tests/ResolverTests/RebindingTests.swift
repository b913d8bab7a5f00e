// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Private addresses of public names (protection against DNS rebinding)")
struct RebindingTests {
    @ServiceLoop
    private static func upstream(_ addresses: String...) -> ScriptedUpstream {
        ScriptedUpstream { (message) throws(UpstreamError) in
            guard let question = message.questions.first else { return }
            message.answers = addresses.compactMap { IPAddress($0) }.map(RecordData.init)
                .filter { $0.fits(question.type) }
                .map { Record(name: question.name, ttl: 300, data: $0) }
        }
    }

    private static func policy(except: DomainPattern...) -> AnswerPolicy {
        var policy = AnswerPolicy()
        policy.rebinding.protects = true
        policy.rebinding.exceptions = except
        return policy
    }

    @Test(arguments: [
        "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.8.8.8",
        "0.0.0.0", "0.1.2.3", "169.254.169.254", "::", "::1", "fe80::1", "fc00::1", "fd12::1",
        "::ffff:192.168.1.1", "::ffff:127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1",
        "::10.0.0.1", "100.64.0.1", "100.100.100.200", "198.18.0.1", "192.0.0.1", "224.0.0.251",
        "240.0.0.1", "255.255.255.255", "2002:a00:1::1", "2001:0:a00:1::1",
        "2001:0:102:304::f5ff:fffe", "64:ff9b:1::10.0.0.1", "fec0::1", "ff02::fb", "100::1",
        "::ffff:100.100.100.200", "64:ff9b::100.64.0.1",
    ])
    @ServiceLoop
    func `private addresses are removed, and an EDE explains an empty answer`(
        _ address: String
    ) async throws {
        let type: RecordType = address.contains(":") ? .aaaa : .a
        let harness = try ResolverHarness(upstream: Self.upstream(address), answers: Self.policy())
        try await harness.expect(
            "www.example.org",
            type,
            story: """
                NOERROR from httpdnsd after 10 ms
                EDE 15: private address for a public name (DNS rebinding)
                authority: SOA www.example.org. 5 5
                asked: upstream \(type) at 0
                kept: \(type) NODATA 5
                """
        )
        let off = try ResolverHarness(upstream: Self.upstream(address))
        let answer = try await off.ask("www.example.org", type)
        #expect(answer.message.answers.map(\.data.address) == [IPAddress(address)])
    }

    @Test(arguments: [
        "192.0.2.1", "172.15.0.1", "172.32.0.1", "11.0.0.1", "169.253.1.1", "1.1.1.1",
        "2001:db8::1", "64:ff9b::192.0.2.1", "::ffff:192.0.2.1", "2002:c000:201::1",
        "2001:0:102:304::f6ff:fffe", "192.0.0.170", "64:ff9b::192.0.0.171", "100.128.0.1",
        "198.20.0.1",
    ])
    @ServiceLoop
    func `a public address passes`(_ address: String) async throws {
        let type: RecordType = address.contains(":") ? .aaaa : .a
        let harness = try ResolverHarness(upstream: Self.upstream(address), answers: Self.policy())
        #expect(try await harness.ask("www.example.org", type).message.answers.count == 1)
    }

    @Test
    @ServiceLoop
    func `a mixed answer loses private addresses, a signed answer all addresses`() async throws {
        let harness = try ResolverHarness(
            upstream: Self.upstream("192.0.2.1", "10.0.0.1", "192.0.2.2"),
            answers: Self.policy()
        )
        #expect(try await harness.ask("www.example.org").answers == ["A 192.0.2.1", "A 192.0.2.2"])
        let signed = try await harness.ask("www.example.org", dnssecOK: true)
        #expect(signed.answers.isEmpty && signed.rcode == .noError)
        #expect(signed.resolution.explanation?.code == .blocked)
        #expect(signed.resolution.variant != .any)
    }

    @Test
    @ServiceLoop
    func `private addresses behind an alias are removed`() async throws {
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                message.answers = [
                    .cname("www.example.org", "in.example.net"), .a("in.example.net", 0x0A00_0001),
                ]
            },
            answers: Self.policy()
        )
        let answer = try await harness.ask("www.example.org")
        #expect(answer.answers.isEmpty && answer.zone == "www.example.org")
    }

    @Test
    @ServiceLoop
    func `private addresses under the NAT64 prefix of the settings are removed`() async throws {
        let prefix = try #require(IPPrefix("2001:db8:64::/96"))
        var policy = Self.policy()
        policy.nat64 = NAT64Prefix(prefix)
        let harness = try ResolverHarness(
            upstream: Self.upstream("2001:db8:64::192.168.1.1", "2001:db8:64::192.0.2.1"),
            answers: policy
        )
        #expect(
            try await harness.ask("www.example.org", .aaaa).answers
                == ["AAAA 2001:db8:64::c000:201"]
        )
        for (allows, expected) in [(false, 1), (true, 2)] {
            let vendor = try ResolverHarness(
                .tencent,
                answers: policy,
                allowsPrivateAnswers: allows
            )
            vendor.zone = [
                "www.example.com": Known(
                    v6: ["2001:db8:64::a00:1", "2001:db8:64::7f00:1", "2001:db8::1"]
                )
            ]
            let answer = try await vendor.ask("www.example.com", .aaaa)
            #expect(answer.answers.count == expected, "\(answer.answers)")
            #expect(vendor.resolver.statistics.vendors.droppedAddresses == 3 - UInt64(expected))
        }
    }

    @Test
    @ServiceLoop
    func `private address hints are removed`() async throws {
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                let wrapped = IPv6Address(high: 0x64_FF9B_0000_0000, low: 0x0A00_0001)
                message.answers = [
                    Record(
                        name: "www.example.org",
                        type: .https,
                        ttl: 300,
                        data: .svcb(
                            ServiceBinding(
                                priority: 1,
                                target: .root,
                                parameters: [
                                    .init(key: .ipv4Hint, value: [192, 0, 2, 1, 10, 0, 0, 1]),
                                    .init(key: .ipv6Hint, value: wrapped.octets),
                                ]
                            )
                        )
                    )
                ]
            },
            answers: Self.policy()
        )
        #expect(
            try await harness.ask("www.example.org", .https).answers
                == ["HTTPS 1 . ipv4hint=192.0.2.1"]
        )
        #expect(try await harness.ask("www.example.org", .https, dnssecOK: true).answers.isEmpty)
    }

    @Test(arguments: [ServiceKey.ipv4Hint, .ipv6Hint])
    @ServiceLoop
    func `a hint that cannot be parsed is removed`(_ key: ServiceKey) async throws {
        let harness = try ResolverHarness(
            upstream: ScriptedUpstream { (message) throws(UpstreamError) in
                let binding = ServiceBinding(
                    priority: 1,
                    target: .root,
                    parameters: [
                        .init(key: .alpn, value: [2, 0x68, 0x32]),
                        .init(key: key, value: [10, 0, 0, 1, 10]),
                    ]
                )
                message.answers = [
                    Record(name: "www.example.org", type: .https, ttl: 300, data: .svcb(binding))
                ]
            },
            answers: Self.policy()
        )
        #expect(
            try await harness.ask("www.example.org", .https).answers == ["HTTPS 1 . alpn=\"h2\""]
        )
    }

    @Test
    @ServiceLoop
    func `exceptions, and routes to upstreams or with private answers, keep private addresses`()
        async throws
    {
        let office = Self.upstream("10.0.0.1")
        let harness = try ResolverHarness(
            upstream: Self.upstream("10.0.0.2"),
            answers: Self.policy(except: .suffix("plex.example"), .exact("one.example")),
            routes: { routes in
                routes.add(
                    Route(
                        place: "test:1",
                        vendors: [],
                        upstreams: UpstreamGroup([office]),
                        fallsBack: true,
                        allowsPrivateAnswers: false
                    ),
                    for: [.suffix("corp.example")],
                    except: [.exact("public.corp.example")]
                )
                routes.add(
                    Route(
                        place: "test:2",
                        vendors: [],
                        upstreams: nil,
                        fallsBack: true,
                        allowsPrivateAnswers: true
                    ),
                    for: [.suffix("allowed.example")],
                    except: []
                )
            }
        )
        #expect(try await harness.ask("www.corp.example").answers == ["A 10.0.0.1"])
        for name in ["a.plex.example", "one.example", "www.allowed.example"] as [Name] {
            #expect(try await harness.ask(name).answers == ["A 10.0.0.2"], "\(name)")
        }
        for name in ["two.one.example", "public.corp.example", "www.example.org"] as [Name] {
            #expect(try await harness.ask(name).answers == [], "\(name)")
        }
    }

    @Test
    @ServiceLoop
    func `private addresses of a vendor route's fallback are removed`() async throws {
        let harness = try ResolverHarness(
            .tencent,
            upstream: Self.upstream("192.168.1.1"),
            answers: Self.policy()
        )
        let answer = try await harness.ask("none.example.com")
        #expect(answer.answers.isEmpty && answer.zone == "example.com")
        #expect(answer.resolution.explanation?.code == .blocked)
    }
}
