// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Cached answers after a change of the settings")
struct ReloadInvalidationTests {
    @ServiceLoop
    private struct Side {
        var vendors: [String] = []
        var upstreams: [String]?
        var fallsBack = true
        var allowsPrivate = false
        var standard = ["one"]
        var answers = AnswerPolicy()
        var except: [DomainPattern] = []
        var parameters: RouteParameters?
        var minimumTTL: UInt32?
    }

    @ServiceLoop
    private final class Fixture {
        let world = Simulation()
        let cache: AnswerCache
        let book: HealthTable
        private var clients: [String: VendorClient] = [:]
        private var upstreams: [String: ScriptedUpstream] = [:]

        init() {
            cache = AnswerCache(limit: 1 << 20, origin: world.now, seed: 1)
            book = HealthTable(clocks: world.clocks)
        }

        private func client(_ name: String) throws -> VendorClient {
            if let known = clients[name] { return known }
            let client = VendorClient(
                name: name,
                vendor: try Account.tencent.vendor(),
                servers: try Account.tencent.servers(1),
                settings: VendorClient.Settings(),
                transport: world,
                clocks: world.clocks
            )
            clients[name] = client
            return client
        }

        private func group(_ names: [String]) -> UpstreamGroup {
            let members = names.map { name in
                let upstream = upstreams[name] ?? ScriptedUpstream(name)
                upstream.world = world
                upstreams[name] = upstream
                return upstream
            }
            return UpstreamGroup(members, health: book)
        }

        func resolver(_ side: Side, after old: Resolver? = nil) throws -> Resolver {
            var routes = RouteTable()
            if !side.vendors.isEmpty || side.upstreams != nil {
                var options = Route.Options()
                options.parameters = side.parameters
                options.minimumTTL = side.minimumTTL
                routes.add(
                    Route(
                        place: "test:1",
                        vendors: try side.vendors.map(client),
                        upstreams: side.upstreams.map(group),
                        fallsBack: side.fallsBack,
                        allowsPrivateAnswers: side.allowsPrivate,
                        options: options
                    ),
                    for: [.suffix("example.com")],
                    except: side.except
                )
            }
            return Resolver(
                routes: routes,
                standard: group(side.standard),
                policy: TTLPolicy(),
                answers: side.answers,
                cache: cache,
                clocks: world.clocks,
                succeeding: old
            )
        }

        func store(
            _ name: Name,
            _ type: RecordType,
            from giver: String,
            after vendor: String? = nil,
            address: IPv4Address = IPv4Address(value: 0xC000_0201),
            v6: IPv6Address = IPv6Address(high: 0x2001_0DB8_0000_0000, low: 1),
            isSynthesized: Bool = false,
            isEmpty: Bool = false,
            _ origins: AnswerSourceRegistry
        ) throws {
            let isVendor = clients[giver] != nil
            var number =
                isVendor
                ? origins.number("\(giver)/192.0.2.1", vendor: giver)
                : origins.number("\(giver)/scripted", vendor: vendor)
            if isSynthesized { number = origins.number(synthesizedFrom: number) }
            let question = Question(name: name, type: type)
            let data: RecordData? =
                switch type {
                case .a: .a(address)
                case .aaaa where !isEmpty: .aaaa(v6)
                default: nil
                }
            let records = data.map { [Record(name: name, ttl: 300, data: $0)] } ?? []
            cache.insert(
                CachedAnswer(
                    question: question,
                    variant: .any,
                    rcode: .noError,
                    sections: try AnswerSections(question: question, answers: records),
                    lifetime: 300,
                    source: isVendor ? .vendor : .upstream,
                    server: number
                ),
                now: world.now
            )
        }

        func fill(_ resolver: Resolver) throws {
            let origins = resolver.origins
            try store("a.example.com", .a, from: "a", origins)
            try store("b.example.com", .a, from: "b", origins)
            try store("fallback.example.com", .aaaa, from: "one", after: "a", origins)
            try store("mx.example.com", .mx, from: "one", origins)
            try store("svc.example.com", .https, from: "one", origins)
            try store("www.example.org", .a, from: "one", origins)
        }

        func snapshot(_ validity: SnapshotValidity?, _ origins: AnswerSourceRegistry) -> [UInt8] {
            var writer = SnapshotWriter(
                of: cache,
                now: world.now,
                wallTime: 0,
                digests: validity?.digests ?? [:]
            )
            var file: [UInt8] = []
            while let block = writer.next(origins.label) { file += block }
            return file
        }

        func restored(_ file: [UInt8], _ side: Side, same: Set<String>) throws -> Set<String> {
            cache.remove(.all, now: world.now)
            let resolver = try resolver(side)
            let validity = resolver.snapshotValidity(vendors: vendors(same))
            _ = try cache.restore(
                file,
                now: world.now,
                wallTime: 0,
                selecting: validity.selection,
                serverNumber: resolver.origins.number(labelled:)
            )
            return left
        }

        func vendors(_ same: Set<String> = ["a", "b"]) -> [String: String] {
            Dictionary(uniqueKeysWithValues: ["a", "b"].map { ($0, "\(same.contains($0))") })
        }

        var left: Set<String> {
            var left: Set<String> = []
            cache.remove(now: world.now) { name, type, _, _ in
                left.insert("\(name.text.lowercased()) \(type)")
                return false
            }
            return left
        }
    }

    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let old: Side
        let new: Side
        var same: Set<String>?
        let kept: Set<String>

        var restored: Set<String>?
    }

    /// The answer for `fallback.example.com` is from `one`, which was the fallback of `a`.
    private static let all: Set<String> = [
        "a.example.com A", "b.example.com A", "fallback.example.com AAAA", "mx.example.com MX",
        "svc.example.com HTTPS", "www.example.org A",
    ]

    @ServiceLoop
    private static var cases: [Case] {
        let plain = Side(vendors: ["a", "b"])
        let elsewhere: Set<String> = ["www.example.org A"]
        let forwarded: Set<String> = ["mx.example.com MX", "www.example.org A"]
        func change(_ edit: (inout Side) -> Void) -> Side {
            var side = plain
            edit(&side)
            return side
        }
        return [
            Case(testDescription: "nothing", old: plain, new: plain, kept: all),
            Case(
                testDescription: "a vendor after the others",
                old: plain,
                new: change { $0.vendors = ["a", "b", "c"] },
                kept: forwarded.union(["a.example.com A", "b.example.com A"]),
                restored: forwarded.union(["a.example.com A"])
            ),
            Case(
                testDescription: "a vendor before the others",
                old: plain,
                new: change { $0.vendors = ["c", "a", "b"] },
                kept: forwarded
            ),
            Case(
                testDescription: "the last vendor removed",
                old: plain,
                new: change { $0.vendors = ["a"] },
                kept: forwarded.union(["a.example.com A", "fallback.example.com AAAA"])
            ),
            Case(
                testDescription: "the vendors in reverse order",
                old: plain,
                new: change { $0.vendors = ["b", "a"] },
                kept: forwarded.union(["b.example.com A", "fallback.example.com AAAA"]),
                restored: forwarded.union(["b.example.com A"])
            ),
            Case(
                testDescription: "another account of b",
                old: plain,
                new: plain,
                same: ["a"],
                kept: forwarded.union(["a.example.com A"])
            ),
            Case(
                testDescription: "parameters of the route",
                old: plain,
                new: change { $0.parameters = RouteParameters(sdns: ["tier": "gold"]) },
                kept: forwarded
            ),
            Case(
                testDescription: "other parameters of the route",
                old: change { $0.parameters = RouteParameters(sdns: ["tier": "gold"]) },
                new: change { $0.parameters = RouteParameters(sdns: ["tier": "silver"]) },
                kept: forwarded
            ),
            Case(
                testDescription: "no parameters of the route",
                old: change { $0.parameters = RouteParameters(sdns: [:]) },
                new: plain,
                kept: forwarded
            ),
            Case(
                testDescription: "the same parameters, other vendors",
                old: change { $0.parameters = RouteParameters(sdns: ["tier": "gold"]) },
                new: change {
                    $0.parameters = RouteParameters(sdns: ["tier": "gold"])
                    $0.vendors = ["a"]
                },
                kept: forwarded.union(["a.example.com A", "fallback.example.com AAAA"])
            ),
            Case(
                testDescription: "TTL bounds of the route",
                old: plain,
                new: change { $0.minimumTTL = 300 },
                kept: all
            ),
            Case(
                testDescription: "no fallback",
                old: plain,
                new: change { $0.fallsBack = false },
                kept: forwarded,
                restored: forwarded.union(["a.example.com A"])
            ),
            Case(
                testDescription: "private answers allowed",
                old: plain,
                new: change { $0.allowsPrivate = true },
                kept: forwarded,
                restored: forwarded.union(["a.example.com A"])
            ),
            Case(
                testDescription: "to the route's own upstreams",
                old: plain,
                new: Side(upstreams: ["two"]),
                kept: elsewhere
            ),
            Case(
                testDescription: "no route",
                old: plain,
                new: Side(),
                kept: forwarded.union(["fallback.example.com AAAA"])
            ),
            Case(
                testDescription: "another standard upstream",
                old: plain,
                new: change { $0.standard = ["two"] },
                kept: ["a.example.com A", "b.example.com A"],
                restored: ["a.example.com A"]
            ),
            Case(
                testDescription: "a second standard upstream",
                old: plain,
                new: change { $0.standard = ["one", "two"] },
                kept: all.subtracting(["svc.example.com HTTPS"]),
                restored: forwarded.union(["a.example.com A"])
            ),
            Case(
                testDescription: "protection against rebinding",
                old: plain,
                new: change { $0.answers.rebinding.protects = true },
                kept: ["a.example.com A", "b.example.com A", "mx.example.com MX"]
            ),
            Case(
                testDescription: "a NAT64 prefix",
                old: plain,
                new: change { $0.answers.nat64 = .wellKnown },
                kept: all.subtracting(["fallback.example.com AAAA", "svc.example.com HTTPS"])
            ),
            Case(
                testDescription: "service bindings unchanged",
                old: plain,
                new: change { $0.answers.serviceBindings = .forward },
                kept: all.subtracting(["svc.example.com HTTPS"])
            ),
            Case(
                testDescription: "no IPv6 addresses",
                old: plain,
                new: change { $0.answers.suppressesAAAA = true },
                kept: all.subtracting(["fallback.example.com AAAA"])
            ),
            Case(
                testDescription: "an exception of the route",
                old: plain,
                new: change { $0.except = [.exact("a.example.com")] },
                kept: all.subtracting(["a.example.com A"]),
                restored: forwarded
            ),
        ]
    }

    @Test("a reload removes the cached answers that the new settings do not allow, and no others")
    @ServiceLoop
    func kept() throws {
        for change in Self.cases {
            let fixture = Fixture()
            let old = try fixture.resolver(change.old)
            let new = try fixture.resolver(change.new, after: old)
            try fixture.fill(old)
            let same = change.same ?? ["a", "b"]
            var trial = new.trialSweep(after: old, hosts: HostsTable(), sameVendors: same)
            while trial?.step(now: fixture.world.now) ?? false {}
            #expect(fixture.left == Self.all)
            var sweep = new.takeOver(from: old, hosts: HostsTable(), sameVendors: same)
            while sweep?.step(now: fixture.world.now) ?? false {}
            #expect(fixture.left == change.kept, "\(change.testDescription)")
            #expect(
                sweep?.count ?? 0 == Self.all.count - change.kept.count,
                "\(change.testDescription)"
            )
            #expect(trial?.count == sweep?.count, "\(change.testDescription)")
        }
    }

    @Test("after a restart with changed settings, the snapshot restores no invalid answers")
    @ServiceLoop
    func restored() throws {
        for change in Self.cases {
            let fixture = Fixture()
            let old = try fixture.resolver(change.old)
            try fixture.fill(old)
            let validity = old.snapshotValidity(vendors: fixture.vendors())
            let file = fixture.snapshot(validity, old.origins)
            let same = change.same ?? ["a", "b"]
            let restored = try fixture.restored(file, change.new, same: same)
            #expect(restored == change.restored ?? change.kept, "\(change.testDescription)")
        }
    }

    @Test(
        "from a snapshot without settings digests, answers that depend on vendors are not restored"
    )
    @ServiceLoop
    func earlierVersion() throws {
        let fixture = Fixture()
        let side = Side(vendors: ["a", "b"])
        let old = try fixture.resolver(side)
        try fixture.fill(old)
        let restored = try fixture.restored(fixture.snapshot(nil, old.origins), side, same: [])
        #expect(restored == ["mx.example.com MX"])
    }

    private static let inside = IPv4Address(value: 0xC0A8_0107)

    @Test("a restart does not restore private addresses from `upstreams` that the route has lost")
    @ServiceLoop
    func privateRoute() throws {
        let fixture = Fixture()
        var side = Side(upstreams: ["one"])
        side.answers.rebinding.protects = true
        let old = try fixture.resolver(side)
        let (origins, validity) = (old.origins, old.snapshotValidity(vendors: [:]))
        try fixture.store("nas.example.com", .a, from: "one", address: Self.inside, origins)
        try fixture.store("www.example.com", .a, from: "one", origins)
        let file = fixture.snapshot(validity, origins)
        let both: Set<String> = ["nas.example.com A", "www.example.com A"]
        #expect(try fixture.restored(file, side, same: []) == both)
        side.upstreams = nil
        #expect(try fixture.restored(file, side, same: []) == ["www.example.com A"])
    }

    @Test("without `private-answers: allow`, a restart does not restore vendors' private addresses")
    @ServiceLoop
    func privateVendor() throws {
        let fixture = Fixture()
        var side = Side(vendors: ["a"], allowsPrivate: true)
        let old = try fixture.resolver(side)
        let (origins, validity) = (old.origins, old.snapshotValidity(vendors: fixture.vendors()))
        try fixture.store("nas.example.com", .a, from: "a", address: Self.inside, origins)
        try fixture.store("www.example.com", .a, from: "a", origins)
        let file = fixture.snapshot(validity, origins)
        side.allowsPrivate = false
        #expect(try fixture.restored(file, side, same: ["a", "b"]) == ["www.example.com A"])
    }

    @Test("a reload removes invalid answers in steps; answers stored after the reload stay")
    @ServiceLoop
    func steps() async throws {
        let fixture = Fixture()
        let old = try fixture.resolver(Side(vendors: ["a", "b"]))
        let new = try fixture.resolver(Side(vendors: ["b"]), after: old)
        for number in 0..<1_000 {
            try fixture.store(try Name("n\(number).example.com"), .a, from: "a", old.origins)
        }
        let sweep = try #require(
            new.takeOver(from: old, hosts: HostsTable(), sameVendors: ["a", "b"])
        )
        let operation = fixture.world.begin { await sweep.finish(fixture.world.clocks) }
        await fixture.world.advance(by: .zero)
        #expect(
            (500..<1_000).contains(fixture.left.count),
            "other work runs after one step"
        )
        await fixture.world.advance(by: .milliseconds(1))
        #expect(fixture.left.isEmpty)
        try fixture.store("late.example.com", .a, from: "b", old.origins)
        #expect(try await fixture.world.value(of: operation) == 1_000)
        #expect(fixture.left == ["late.example.com A"])
    }

    // MARK: - NAT64

    @Test("a new NAT64 prefix keeps vendors' synthesized and empty answers only with `savesCalls`")
    @ServiceLoop
    func prefix() throws {
        let prefix = try #require(IPPrefix("2001:db8:64::/96").flatMap { NAT64Prefix($0) })
        let inside = prefix.embed(Self.inside)
        let outside = prefix.embed(IPv4Address(value: 0x0808_0808))
        for (savesCalls, saved) in [
            (false, Set<String>()),
            (true, ["empty.example.com AAAA", "translated.example.com AAAA"]),
        ] {
            let fixture = Fixture()
            let resolver = try fixture.resolver(Side(vendors: ["a"]))
            let origins = resolver.origins
            try fixture.store("a.example.com", .a, from: "a", origins)
            try fixture.store("global.example.com", .aaaa, from: "a", v6: outside, origins)
            try fixture.store("inside.example.com", .aaaa, from: "a", v6: inside, origins)
            try fixture.store("empty.example.com", .aaaa, from: "a", isEmpty: true, origins)
            try fixture.store(
                "translated.example.com",
                .aaaa,
                from: "a",
                isSynthesized: true,
                origins
            )
            try fixture.store("fallback.example.com", .aaaa, from: "one", after: "a", origins)
            try fixture.store("www.example.org", .aaaa, from: "one", origins)
            try fixture.store("www.example.org", .https, from: "one", origins)
            let all = fixture.left
            #expect(all.count == 8)
            var sweep = resolver.prefixChanged(to: prefix, savesCalls: savesCalls)
            while sweep.step(now: fixture.world.now) {}
            let kept: Set = [
                "a.example.com A", "global.example.com AAAA", "fallback.example.com AAAA",
            ]
            #expect(fixture.left == kept.union(saved))
        }
    }

    @Test("if a reload removes an upstream with a query in flight, the answer is not cached")
    @ServiceLoop
    func underWay() async throws {
        let world = Simulation()
        let cache = AnswerCache(limit: 1 << 20, origin: world.now, seed: 1)
        let one = ScriptedUpstream("one") { _ in }
        let two = ScriptedUpstream("two") { _ in }
        for upstream in [one, two] { upstream.world = world }
        let book = HealthTable(clocks: world.clocks)
        func resolver(_ upstream: ScriptedUpstream, after old: Resolver?) -> Resolver {
            Resolver(
                routes: RouteTable(),
                standard: UpstreamGroup([upstream], health: book),
                policy: TTLPolicy(),
                cache: cache,
                clocks: world.clocks,
                succeeding: old
            )
        }
        let first = resolver(one, after: nil)
        let query = Query(question: Question(name: "www.example.org", type: .a))
        func ask(_ resolver: Resolver) -> TestOperation<Resolution> {
            let deadline = world.now + .seconds(5)
            return world.begin { await resolver.resolve(query, deadline: deadline) }
        }
        let early = ask(first)
        let second = resolver(two, after: first)
        _ = second.takeOver(from: first, hosts: HostsTable(), sameVendors: [])
        #expect(try await world.value(of: early).rcode == .noError)
        #expect(one.asked.count == 1 && two.asked.count == 0)
        #expect(cache.numbers.entries == 0)
        let late = ask(second)
        #expect(try await world.value(of: late).rcode == .noError)
        #expect(two.asked.count == 1)
        #expect(cache.numbers.entries == 1)
        #expect(second.statistics === first.statistics)
    }

    @Test("after `rebinding` is switched off, cached NODATA that `rebinding` caused is removed")
    @ServiceLoop
    func unprotected() async throws {
        let world = Simulation()
        let cache = AnswerCache(limit: 1 << 20, origin: world.now, seed: 1)
        let upstream = ScriptedUpstream("one", address: Self.inside.value)
        upstream.world = world
        let group = UpstreamGroup([upstream], health: HealthTable(clocks: world.clocks))
        let query = Query(question: Question(name: "nas.example.org", type: .a))
        var answers = AnswerPolicy()
        var old: Resolver?
        for protects in [true, false] {
            answers.rebinding.protects = protects
            let resolver = Resolver(
                routes: RouteTable(),
                standard: group,
                policy: TTLPolicy(),
                answers: answers,
                cache: cache,
                clocks: world.clocks,
                succeeding: old
            )
            let sweep = old.flatMap {
                resolver.takeOver(from: $0, hosts: HostsTable(), sameVendors: [])
            }
            if var sweep { while sweep.step(now: world.now) {} }
            let deadline = world.now + .seconds(5)
            let asked = world.begin { await resolver.resolve(query, deadline: deadline) }
            let answer = try await world.value(of: asked)
            #expect(answer.rcode == .noError)
            #expect(answer.sections.answerCount == (protects ? 0 : 1))
            #expect(cache.numbers.entries == 1)
            old = resolver
        }
    }

    @Test("after two reloads, the first resolver does not keep the second resolver in memory")
    @ServiceLoop
    func released() throws {
        let fixture = Fixture()
        let first = try fixture.resolver(Side())
        var second: Resolver? = try fixture.resolver(Side(upstreams: ["two"]), after: first)
        weak let routes = second?.activeRoutes
        let third = try fixture.resolver(Side(upstreams: ["three"]), after: second)
        _ = second?.takeOver(from: first, hosts: HostsTable(), sameVendors: [])
        if let second { _ = third.takeOver(from: second, hosts: HostsTable(), sameVendors: []) }
        #expect(routes != nil)
        second = nil
        #expect(routes == nil)
        withExtendedLifetime((first, third)) {}
    }

    @Test("after a reload, the limit per minute includes the refreshes from before the reload")
    func window() {
        let start = Clock.now
        func allowed(_ limit: Int, at seconds: [Int]) -> [Int] {
            var old = CallWindow(limit: 3)
            for second in 0..<4 { _ = old.take(start + .seconds(second)) }
            var window = CallWindow(limit: limit)
            window.takeOver(from: old)
            return seconds.filter { window.take(start + .seconds($0)) }
        }
        #expect(allowed(2, at: [5, 60, 61, 61, 62]) == [61, 62])
        #expect(allowed(5, at: [5, 6, 7, 60]) == [5, 6, 60])
        #expect(allowed(0, at: [5, 100]) == [])
    }
}
