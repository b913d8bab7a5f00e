// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import Testing
import Upstream

@testable import Resolver

@Suite("Names that a vendor answers", .timeLimit(.minutes(1)))
struct VendorStageTests {
    init() { ServiceLoop.start() }

    private static let www: Name = "www.example.com"

    /// A vendor that says `rest` of every name.
    private static func vendor(_ rest: String, gate: Gate? = nil) -> ScriptedTransport {
        ScriptedTransport(gate: gate) { name, _ in .reply("\(name).:\(rest)") }
    }

    // MARK: - One call

    @Test
    @ServiceLoop
    func `one call fills the cache with both families`() async throws {
        let house = try House(vendor: Self.vendor("192.0.2.10;192.0.2.11,60-2001:db8::1,120"))
        let answer = try await house.ask(Self.www)
        #expect(answer.answers == ["A 192.0.2.10", "A 192.0.2.11"])
        #expect(answer.message.answers.map(\.ttl) == [60, 60])
        #expect(answer.resolution.provenance.source == .vendor)
        #expect(answer.resolution.variant == .any)
        #expect(house.origin(answer) == "v1/192.0.2.1:443")
        #expect(house.cached(Self.www) == ["A 2", "AAAA 1"])
        #expect(house.transport.sent.map(\.name) == ["www.example.com"])
        #expect(house.upstream?.asked == [])
    }

    @Test
    @ServiceLoop
    func `A and AAAA that are asked at once are one call`() async throws {
        let gate = Gate()
        let house = try House(vendor: Self.vendor("192.0.2.10,60-2001:db8::1,60", gate: gate))
        let v4 = Task { @ServiceLoop in try await house.ask(Self.www, .a).answers }
        let v6 = Task { @ServiceLoop in try await house.ask("WWW.example.com", .aaaa).answers }
        await gate.crowd(of: 1)
        await Task.yield()
        gate.open()
        #expect(try await v4.value == ["A 192.0.2.10"])
        #expect(try await v6.value == ["AAAA 2001:db8::1"])
        #expect(house.transport.sent.count == 1)
        #expect(house.vendors[0].statistics.paired == 1)
        #expect(house.resolver.merging.merged == 0)
    }

    @Test
    @ServiceLoop
    func `equal questions wait for one answer`() async throws {
        let gate = Gate()
        let house = try House(vendor: Self.vendor("192.0.2.10,60-0", gate: gate))
        let tasks = (0..<5).map { index in
            Task { @ServiceLoop in
                try await house.ask(index % 2 == 0 ? Self.www : "wWw.example.com").resolution
            }
        }
        await gate.crowd(of: 1)
        await Task.yield()
        gate.open()
        var merged = 0
        for task in tasks {
            let resolution = try await task.value
            #expect(resolution.sections.answerCount == 1)
            if resolution.provenance.wasMerged { merged += 1 }
        }
        #expect(merged == 4)
        #expect(house.resolver.merging.merged == 4)
        let byVendor = house.resolver.merging.mergedByOrigin.map { origin, count in
            (house.resolver.origins.vendor(origin), count)
        }
        #expect(byVendor.count == 1 && byVendor[0] == ("v1", 4))
        #expect(house.transport.sent.count == 1)
    }

    @Test
    @ServiceLoop
    func `what DNSSEC a client speaks does not cost a second call`() async throws {
        let gate = Gate()
        let house = try House(vendor: Self.vendor("192.0.2.10,60-0", gate: gate))
        let plain = Task { @ServiceLoop in try await house.ask(Self.www).answers }
        let secure = Task { @ServiceLoop in
            try await house.ask(Self.www, dnssecOK: true, checkingDisabled: true).answers
        }
        await gate.crowd(of: 1)
        await Task.yield()
        gate.open()
        #expect(try await plain.value == ["A 192.0.2.10"])
        #expect(try await secure.value == ["A 192.0.2.10"])
        #expect(house.transport.sent.count == 1)
        // One entry, for both kinds of clients.
        #expect(house.cached(Self.www) == ["A 1", "AAAA 0"])
    }

    @Test
    @ServiceLoop
    func `the call goes on when the first who asked has gone`() async throws {
        let gate = Gate()
        let house = try House(vendor: Self.vendor("192.0.2.10,60-0", gate: gate))
        let first = Task { @ServiceLoop in _ = try await house.ask(Self.www) }
        let second = Task { @ServiceLoop in try await house.ask(Self.www).answers }
        await gate.crowd(of: 1)
        await Task.yield()
        first.cancel()
        gate.open()
        #expect(try await second.value == ["A 192.0.2.10"])
        #expect(house.transport.sent.count == 1)
    }

    // MARK: - Nothing there

    @Test
    @ServiceLoop
    func `a family of which there is none is NODATA, as the other shows that there is the name`()
        async throws
    {
        let house = try House(vendor: Self.vendor("192.0.2.10,90-0"))
        let answer = try await house.ask(Self.www, .aaaa)
        #expect(answer.rcode == .noError)
        #expect(answer.answers == [])
        #expect(answer.zone == "example.com")
        #expect(answer.message.authorities.map(\.ttl) == [90])
        #expect(answer.resolution.lifetime == 90)
        #expect(house.upstream?.asked == [])
        #expect(house.cached(Self.www) == ["A 1", "AAAA 0"])
    }

    @Test
    @ServiceLoop
    func `a vendor that has nothing leaves the name to the fallback, and is remembered`()
        async throws
    {
        let house = try House(vendor: Self.vendor("0-0"))
        #expect(try await house.ask(Self.www).answers == ["A 192.0.2.99"])
        let other = try await house.ask(Self.www, .aaaa)
        #expect(house.origin(other) == "upstream/scripted")
        #expect(other.resolution.provenance.source == .upstream)
        #expect(house.transport.sent.count == 1)
        #expect(house.resolver.vendors.numbers.pairedByVendor == ["v1": 1])
        #expect(house.resolver.vendors.numbers.paired == 1)
        #expect(house.resolver.origins.vendor(other.resolution.provenance.origin) == nil)
        #expect(house.upstream?.asked.map(\.question.type) == [.a, .aaaa])
        #expect(house.cached(Self.www) == ["A 1", "AAAA 1"])
        // Another name is another call.
        _ = try await house.ask("other.example.com")
        #expect(house.transport.sent.count == 2)
    }

    @Test
    @ServiceLoop
    func `a vendor that fails leaves the name to the fallback, and is asked again`() async throws {
        let house = try House(vendor: ScriptedTransport { _, _ in .status(500) })
        #expect(try await house.ask(Self.www).answers == ["A 192.0.2.99"])
        #expect(try await house.ask(Self.www, .aaaa).rcode == .noError)
        #expect(house.transport.sent.count == 2)
        #expect(house.upstream?.asked.count == 2)
    }

    @Test
    @ServiceLoop
    func `without fallback, empty is NODATA and failure is SERVFAIL`() async throws {
        let empty = try House(vendor: Self.vendor("0-0"), fallsBack: false)
        for type in [RecordType.a, .aaaa] {
            let noData = try await empty.ask(Self.www, type)
            #expect(noData.rcode == .noError)
            #expect(noData.answers == [])
            #expect(noData.zone == "example.com")
            #expect(noData.resolution.lifetime == 5)
            #expect(noData.resolution.provenance.source == .vendor)
        }
        #expect(empty.transport.sent.count == 1)
        #expect(empty.upstream?.asked == [])

        let failing = try House(
            vendor: ScriptedTransport { _, _ in .status(500) },
            fallsBack: false
        )
        let failure = try await failing.ask(Self.www)
        #expect(failure.rcode == .servFail)
        #expect(
            failure.resolution.explanation
                == Explanation(code: .noReachableAuthority, text: "no vendor answered")
        )
        #expect(failing.upstream?.asked == [])
        // Remembered for a moment, for clients that ask alike.
        #expect(failure.resolution.lifetime == 1)
        #expect(failing.cached(Self.www) == ["A 0"])
        // Only addresses are the vendor's alone.
        _ = try await failing.ask(Self.www, .mx)
        #expect(failing.upstream?.asked.count == 1)
    }

    // MARK: - What is believed

    @Test(
        arguments: [
            ("one of two", "10.0.0.1;192.0.2.10,60-0", ["A 192.0.2.10"], 1),
            (
                "all of a family", "10.0.0.1;172.16.0.1;192.168.1.1,60-2001:db8::1,60",
                ["A 192.0.2.99"], 3
            ),
            ("all", "10.0.0.1,60-fd00::1,60", ["A 192.0.2.99"], 2),
        ] as [(String, String, [String], UInt64)]
    )
    @ServiceLoop
    func `private addresses are dropped and counted`(
        _ label: String,
        _ body: String,
        _ expected: [String],
        _ dropped: UInt64
    ) async throws {
        let house = try House(vendor: Self.vendor(body))
        #expect(try await house.ask(Self.www).answers == expected)
        #expect(house.resolver.vendors.numbers.droppedAddresses == dropped)
    }

    @Test
    @ServiceLoop
    func `private addresses are answered where the route allows them`() async throws {
        let house = try House(
            vendor: Self.vendor("10.0.0.1,60-fd00::1,60"),
            allowsPrivateAnswers: true
        )
        #expect(try await house.ask(Self.www).answers == ["A 10.0.0.1"])
        #expect(try await house.ask(Self.www, .aaaa).answers == ["AAAA fd00::1"])
        #expect(house.resolver.vendors.numbers.droppedAddresses == 0)
    }

    @Test(arguments: [(5, 60), (60, 60), (300, 300), (99_999, 600)] as [(Int, UInt32)])
    @ServiceLoop
    func `TTLs are brought within the settings' bounds`(_ ttl: Int, _ expected: UInt32) async throws
    {
        var policy = TTLPolicy()
        policy.positive = 60...600
        let house = try House(vendor: Self.vendor("192.0.2.10,\(ttl)-0"), policy: policy)
        let answer = try await house.ask(Self.www)
        #expect(answer.message.answers.map(\.ttl) == [expected])
        #expect(answer.resolution.lifetime == expected)
    }

    @Test(arguments: [
        ("www.example.com", RecordType.https), ("www.example.com", .mx), ("www.example.com", .txt),
        (#"a\@b.example.com"#, .a), (#"a\032b.example.com"#, .aaaa), ("www.example.org", .a),
    ])
    @ServiceLoop
    func `what a vendor cannot know is asked upstream`(_ name: String, _ type: RecordType)
        async throws
    {
        let house = try House(vendor: Self.vendor("192.0.2.10,60-0"))
        _ = try await house.ask(try Name(name), type)
        #expect(house.transport.sent.count == 0)
        #expect(house.upstream?.asked.count == 1)
    }

    // MARK: - Several vendors

    @Test
    @ServiceLoop
    func `a vendor that fails is followed by the next, one that has nothing is not`() async throws {
        let house = try House(
            vendor: ScriptedTransport { name, server in
                server == "192.0.2.2" ? .reply("\(name).:192.0.2.20,60-0") : .status(500)
            },
            vendors: 3
        )
        let answer = try await house.ask(Self.www)
        #expect(answer.answers == ["A 192.0.2.20"])
        #expect(house.origin(answer) == "v2/192.0.2.2:443")
        #expect(house.transport.sent.map(\.server) == ["192.0.2.1", "192.0.2.2"])

        let empty = try House(vendor: Self.vendor("0-0"), vendors: 3)
        #expect(try await empty.ask(Self.www).answers == ["A 192.0.2.99"])
        #expect(empty.transport.sent.count == 1)
    }

    @Test
    @ServiceLoop
    func `vendors share three seconds, and the rest is the fallback's`() async throws {
        let house = try House(vendor: ScriptedTransport { _, _ in .status(500) }, vendors: 3)
        let start = Clock.now
        _ = try await house.ask(Self.www, within: .milliseconds(4_800))
        let after = Clock.now
        #expect(house.transport.sent.count == 3)
        for (index, sent) in house.transport.sent.enumerated() {
            let count = 3 - index
            // The last has two seconds at most, the longest wait for one server.
            let share = min(.seconds(3) / count, .seconds(2))
            #expect(sent.deadline >= start + share - (after - start))
            #expect(sent.deadline <= after + share)
        }
        let deadline = try #require(house.upstream?.deadlines.first)
        #expect(deadline <= after + .seconds(2))
    }

    @Test
    @ServiceLoop
    func `vendors leave the fallback three eighths of a short time`() async throws {
        let house = try House(vendor: ScriptedTransport { _, _ in .status(500) })
        _ = try await house.ask(Self.www, within: .milliseconds(800))
        let after = Clock.now
        let sent = try #require(house.transport.sent.first)
        #expect(sent.deadline <= after + .milliseconds(500))
        #expect(house.upstream?.asked.count == 1)
    }
}

@Suite("Names that upstreams answer", .timeLimit(.minutes(1)))
struct UpstreamStageTests {
    init() { ServiceLoop.start() }

    @Test(arguments: [
        (UpstreamError.timedOut, ExtendedError.noReachableAuthority, "no upstream answered"),
        (.declined(.servFail), .noReachableAuthority, "no upstream answered"),
        (.broken("rubbish"), .noReachableAuthority, "no upstream answered"),
        (.unreachable("no route"), .networkError, "no upstream could be reached"),
    ])
    @ServiceLoop
    func `a failure says why, is kept for a second, and only for clients that ask alike`(
        _ error: UpstreamError,
        _ code: ExtendedError,
        _ text: String
    ) async throws {
        let upstream = ScriptedUpstream { (_) throws(UpstreamError) in throw error }
        let house = try House(upstream: upstream)
        let answer = try await house.ask("www.example.org", dnssecOK: true)
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.isFailure)
        #expect(answer.resolution.explanation == Explanation(code: code, text: text))
        #expect(upstream.asked.count == 2)
        let entries = house.cache.entries(named: "www.example.org", type: nil, now: Clock.now)
        #expect(entries.map(\.rcode) == [.servFail])
        #expect(entries.map(\.variant) == [AnswerVariant(dnssecOK: true, checkingDisabled: false)])
        #expect(
            house.cache.entries(
                named: "www.example.org",
                type: nil,
                now: Clock.now + .seconds(1)
            ).map(\.remaining) == [0]
        )
    }

    @Test
    @ServiceLoop
    func `without upstreams there is an answer, too`() async throws {
        let house = try House(upstream: nil)
        let answer = try await house.ask("www.example.org")
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.explanation?.text == "no upstream is configured for this name")
    }

    @Test
    @ServiceLoop
    func `DO and CD are passed on, and clients that differ in them do not share answers`()
        async throws
    {
        let house = try House()
        for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true)] {
            _ = try await house.ask(
                "www.example.org",
                dnssecOK: dnssecOK,
                checkingDisabled: checkingDisabled
            )
        }
        #expect(house.upstream?.asked.map(\.dnssecOK) == [false, true, false])
        #expect(house.upstream?.asked.map(\.checkingDisabled) == [false, false, true])
        #expect(house.cached("www.example.org") == ["A 1", "A 1", "A 1"])
    }

    @Test
    @ServiceLoop
    func `a TTL of zero is not kept`() async throws {
        let upstream = ScriptedUpstream { (message) throws(UpstreamError) in
            message.answers = [.a("www.example.org", 1, ttl: 0)]
        }
        let house = try House(upstream: upstream)
        #expect(try await house.ask("www.example.org").answers == ["A 0.0.0.1"])
        #expect(house.cached("www.example.org") == [])
    }

    @Test
    @ServiceLoop
    func `answers longer than a message are a failure`() async throws {
        let upstream = ScriptedUpstream { (message) throws(UpstreamError) in
            // Fits with pointers to long names only if written by others.
            let octets = [UInt8](repeating: 1, count: 40_000)
            message.answers = [1, 2].map { first in
                .other("www.example.org", RecordType(rawValue: 65_280), [first] + octets)
            }
        }
        let house = try House(upstream: upstream)
        let answer = try await house.ask("www.example.org", RecordType(rawValue: 65_280))
        #expect(answer.rcode == .servFail)
        #expect(answer.resolution.explanation?.text == "the answer does not fit a message")
    }
}
