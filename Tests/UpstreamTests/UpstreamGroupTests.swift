// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("A group of upstreams", .timeLimit(.minutes(15)))
struct UpstreamGroupTests {
    private let harness = UpstreamHarness()

    // MARK: - Failing over

    @Test(arguments: [
        UpstreamError.unreachable("no route"), .declined(.servFail), .declined(.refused),
        .declined(.notImp), .declined(.formErr), .broken("rubbish"), .untrusted("expired"),
    ])
    @ServiceLoop
    func `after a failure, the next upstream gets the query immediately`(_ failure: UpstreamError)
        async throws
    {
        let group = harness.group(
            ScriptedUpstream("one", in: harness) { _ in .fail(failure, 10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(failure, 10) },
            ScriptedUpstream("three", in: harness) { _ in .answer(10) }
        )
        #expect(try await harness.ask(group) == .success("three"))
        #expect(harness.takeAsked() == "one@0 two@10 three@20")
    }

    @Test
    @ServiceLoop
    func `a failing query is sent twice to each upstream, in the order of settings`() async throws {
        let group = harness.group(
            ScriptedUpstream("one", in: harness) { _ in .fail(.unreachable("no route"), 10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(.broken("last"), 10) }
        )
        #expect(try await harness.ask(group) == .failure(.broken("last")))
        #expect(harness.takeAsked() == "one@0 two@10 one@20 two@30")
    }

    @Test(arguments: [
        UpstreamError.declined(.servFail, because: .dnssecBogus),
        .declined(.servFail, because: .cachedError), .declined(.refused, because: .prohibited),
        .declined(.notImp), .declined(.formErr), .declined(.noError), .rateLimited, .aliases,
    ])
    @ServiceLoop
    func `an upstream with a lasting error is not queried again, and its error is reported`(
        _ lasting: UpstreamError
    ) async throws {
        let group = harness.group(
            ScriptedUpstream("one", in: harness) { _ in .fail(lasting, 10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(.unreachable("no route"), 10) }
        )
        #expect(try await harness.ask(group) == .failure(lasting))
        #expect(harness.takeAsked() == "one@0 two@10 two@20")
    }

    // MARK: - Repetition after an error response

    @Test(arguments: [RCode.servFail, .refused])
    @ServiceLoop
    func `a server that fails the first query for a name gets the query again after a pause`(
        _ rcode: RCode
    ) async throws {
        let error = UpstreamError.declined(rcode, because: .noReachableAuthority)
        for repeatsAfter in [Duration.zero, .seconds(1)] {
            let harness = UpstreamHarness()
            let one = ScriptedUpstream("one", in: harness, repeatsAfter: repeatsAfter) {
                $0 == 0 ? .fail(error, 10) : .answer(10)
            }
            #expect(try await harness.ask(harness.group(one)) == .success("one"))
            #expect(harness.takeAsked() == "one@0 one@110")
        }
    }

    @Test
    @ServiceLoop
    func `a name that always fails is sent three times to each server`()
        async throws
    {
        let error = UpstreamError.declined(.servFail)
        let servers = ["one", "two"].map {
            ScriptedUpstream($0, in: harness, repeatsAfter: .zero, own: .answer(1)) { _ in
                .fail(error, 10)
            }
        }
        #expect(try await harness.ask(harness.group(servers[0])) == .failure(error))
        #expect(harness.takeAsked() == "one@0 one@110 one@220")
        #expect(harness.takeChecked() == "one@10", "only the first error causes a probe")
        #expect(try await harness.ask(harness.group(servers[0], servers[1])) == .failure(error))
        #expect(harness.takeAsked() == "one@230 two@240 one@340 two@350 one@450 two@460")
    }

    @Test
    @ServiceLoop
    func `after an error, all other servers get the query before the first server gets it again`()
        async throws
    {
        let error = UpstreamError.declined(.servFail)
        let group = harness.group(
            ScriptedUpstream("one", in: harness) { $0 == 0 ? .fail(error, 10) : .answer(10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(.broken("reset"), 10) },
            ScriptedUpstream("three", in: harness) { _ in .fail(error, 10) }
        )
        #expect(try await harness.ask(group) == .success("one"))
        #expect(harness.takeAsked() == "one@0 two@10 three@20 two@30 one@110")
    }

    @Test
    @ServiceLoop
    func `a server that returned an error gets the query again while the second is silent`()
        async throws
    {
        let error = UpstreamError.declined(.servFail)
        let group = harness.group(
            ScriptedUpstream("one", in: harness, repeatsAfter: .zero) {
                $0 == 0 ? .fail(error, 10) : .answer(10)
            },
            ScriptedUpstream("two", in: harness, repeatsAfter: .zero) { _ in .silence }
        )
        #expect(try await harness.ask(group) == .success("one"))
        #expect(harness.takeAsked() == "one@0 two@10 two@410 one@810")
    }

    @Test
    @ServiceLoop
    func `a query ends immediately if its deadline is before the end of the pause`() async throws {
        let error = UpstreamError.declined(.servFail)
        let one = ScriptedUpstream("one", in: harness) { _ in .fail(error, 10) }
        let result = try await harness.ask(harness.group(one), within: .milliseconds(110))
        #expect(result == .failure(error))
        #expect(harness.takeAsked() == "one@0" && harness.elapsed == 10)
    }

    @Test
    @ServiceLoop
    func `an error response to a busy client is repeated for at most 16 queries at a time`()
        async throws
    {
        let server = ScriptedUpstream("one", in: harness, own: .answer(1)) { _ in
            .fail(.declined(.servFail), 10)
        }
        let group = harness.group(server)
        let most = UpstreamLimits.repeatedOfBusyClient
        for _ in 0..<2 {
            var ended = 0
            for _ in 0..<(most + 5) {
                let deadline = harness.world.now + .seconds(4)
                group.ask(
                    UpstreamHarness.query,
                    deadline: deadline,
                    load: .high,
                    Completion { _ in ended += 1 }
                )
            }
            await harness.advance(by: .seconds(4))
            #expect(ended == most + 5)
            let asked = harness.takeAsked().split(separator: " ").count
            #expect(asked == 5 + most * UpstreamLimits.roundsWithErrors)
        }
    }

    @Test
    @ServiceLoop
    func `a client with an excessive load causes no repetition after an error`() async throws {
        let servers = ["one", "two"].map {
            ScriptedUpstream($0, in: harness, repeatsAfter: .zero, own: .answer(1)) { _ in
                .fail(.declined(.servFail), 10)
            }
        }
        for group in [harness.group(servers[0]), harness.group(servers[0], servers[1])] {
            let start = harness.elapsed
            let deadline = harness.world.now + .seconds(4)
            group.ask(
                UpstreamHarness.query,
                deadline: deadline,
                load: .excessive,
                Completion { _ in }
            )
            await harness.advance(by: .seconds(4))
            let asked = harness.takeAsked()
            #expect(asked == "one@\(start)" || asked == "one@\(start) two@\(start + 10)")
        }
    }

    @Test(arguments: [(1, 25, 14), (2, 25, 2), (1, 50, 70), (2, 50, 14)])
    @ServiceLoop
    func `if a server returns SERVFAIL at random, few names fail`(
        _ count: Int,
        _ percent: Int,
        _ most: Int
    ) async throws {
        var random = Seeded(seed: 1)
        let servers = (0..<count).map { index in
            ScriptedUpstream("\(index)", in: harness, repeatsAfter: .zero, own: .answer(1)) { _ in
                Int.random(in: 0..<100, using: &random) < percent
                    ? .fail(.declined(.servFail), 10) : .answer(10)
            }
        }
        let group = UpstreamGroup(servers, health: HealthTable(clocks: harness.world.clocks))
        var lost = 0
        for _ in 0..<400 {
            if case .failure = try await harness.ask(group) { lost += 1 }
        }
        #expect(lost <= most)
    }

    @Test
    @ServiceLoop
    func `after an error of a protected server, no name is sent in the clear`() async throws {
        let dot = ScriptedUpstream(
            "dot",
            in: harness,
            isProtected: true,
            repeatsAfter: .seconds(1),
            own: .answer(5)
        ) {
            $0 == 0 ? .fail(.declined(.servFail), 5) : .answer(5)
        }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group) == .success("dot"))
        #expect(harness.takeAsked() == "dot@0 dot@105")
        dot.script = { _ in .fail(.declined(.refused), 5) }
        for _ in 0..<20 {
            #expect(try await harness.ask(group) == .failure(.declined(.refused)))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("dot") })
        #expect(group.health.health(of: dot).isFit)
    }

    // MARK: - Servers outside a VPN

    /// Returns a group with the servers of a VPN, and a server outside the VPN (`spare`) for names
    /// that all servers of the VPN decline.
    @ServiceLoop
    private func group(
        _ vpn: ScriptedUpstream...,
        spare: ScriptedUpstream
    ) -> (UpstreamGroup, LearnedUpstream) {
        let learned = LearnedUpstream(name: "network", url: "network", timeout: .seconds(2))
        learned.use(vpn, spares: [spare])
        return (harness.group(learned), learned)
    }

    @Test(arguments: [UpstreamError.declined(.refused), .declined(.servFail), .declined(.noError)])
    @ServiceLoop
    func `names that all servers of a VPN decline go to a server outside the VPN`(
        _ failure: UpstreamError
    ) async throws {
        let (group, _) = group(
            ScriptedUpstream("one", in: harness) { _ in .fail(failure, 10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(failure, 10) },
            spare: ScriptedUpstream("lan", in: harness) { _ in .answer(1) }
        )
        // After the first queries, the servers of the VPN are in back-off, because they also
        // decline probes; they are queried nevertheless.
        for _ in 0..<8 {
            let start = harness.elapsed
            #expect(try await harness.ask(group) == .success("lan"))
            #expect(
                harness.takeAsked() == "one@\(start) two@\(start + 10) lan@\(start + 20)"
            )
            await harness.advance(by: .seconds(1))
        }
    }

    @Test
    @ServiceLoop
    func `a change of the servers removes the last error of the former servers`() {
        let one = ScriptedUpstream("one", in: harness) { _ in .answer(1) }
        one.numbers.queries = 3
        one.numbers.lastError = .timedOut
        one.numbers.lastErrorAt = Instant(nanoseconds: 1)
        let (group, learned) = group(
            one,
            spare: ScriptedUpstream("lan", in: harness) { _ in .answer(1) }
        )
        #expect(learned.numbers.lastError == .timedOut && group.absence == nil)
        learned.use([], absence: "none")
        #expect(learned.numbers.lastError == nil && learned.numbers.queries == 3)
        #expect(group.absence == .noServer("none"))
    }

    @Test(arguments: [UpstreamError.timedOut, .unreachable("no route"), .broken("lost")])
    @ServiceLoop
    func `a name leaves the VPN only if all servers of the VPN decline the name`(
        _ failure: UpstreamError
    ) async throws {
        let (group, _) = group(
            ScriptedUpstream("one", in: harness) { _ in .fail(.declined(.refused), 10) },
            ScriptedUpstream("two", in: harness) { _ in .fail(failure, 10) },
            spare: ScriptedUpstream("lan", in: harness) { _ in .answer(1) }
        )
        for _ in 0..<4 {
            #expect(try await harness.ask(group) == .failure(.declined(.refused)))
            #expect(!harness.takeAsked().contains("lan"))
            await harness.advance(by: .seconds(1))
        }
    }

    @Test
    @ServiceLoop
    func `if a server of a VPN is removed, its queries do not leave the VPN`() async throws {
        let spare = ScriptedUpstream("lan", in: harness) { _ in .answer(1) }
        let new = ScriptedUpstream("new", in: harness) { _ in .answer(1) }
        let withdrawn = ScriptedUpstream("one", in: harness) { _ in .fail(.withdrawn, 10) }
        let (group, learned) = group(withdrawn, spare: spare)
        withdrawn.script = { _ in
            learned.use([new], spares: [spare])
            return .fail(.withdrawn, 10)
        }
        #expect(try await harness.ask(group) == .success("new"))
        #expect(harness.takeAsked() == "one@0 new@10")
    }

    @Test
    @ServiceLoop
    func `the number of attempts per query is bounded`() async throws {
        let members = (0..<16).map { index in
            ScriptedUpstream("\(index)", in: harness) { _ in .fail(.broken("no"), 1) }
        }
        let group = UpstreamGroup(members, health: HealthTable(clocks: harness.world.clocks))
        #expect(try await harness.ask(group) == .failure(.broken("no")))
        #expect(harness.asked.count == UpstreamLimits.tries)
    }

    @Test
    @ServiceLoop
    func `a query is not sent after its deadline`() async throws {
        let group = harness.group(ScriptedUpstream("one", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group, within: .zero) == .failure(.timedOut))
        #expect(harness.asked.isEmpty)
    }

    @Test
    @ServiceLoop
    func `an attempt ends at the upstream's timeout or at the query's deadline`() async throws {
        let one = ScriptedUpstream("one", in: harness, timeout: .milliseconds(500)) { _ in .silence
        }
        #expect(
            try await harness.ask(harness.group(one), within: .seconds(1)) == .failure(.timedOut)
        )
        #expect(one.waits == [500, 500])
        #expect(harness.elapsed == 1_000)
        #expect(
            try await harness.ask(harness.group(one), within: .milliseconds(300))
                == .failure(.timedOut)
        )
        #expect(one.waits.last == 300)
    }

    @Test
    @ServiceLoop
    func `a slow upstream causes a hedged query to the next; the first answer wins`() async throws {
        let one = ScriptedUpstream("one", in: harness) { _ in .answer(600) }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(50) })
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeAsked() == "one@0 two@400")
        #expect(harness.elapsed == 450)
        await harness.advance(by: .seconds(1))
        #expect(group.health.health(of: one).latency == .milliseconds(600))
        #expect(group.health.health(of: one).isFit)
    }

    @Test
    @ServiceLoop
    func `the hedging delay depends on the shortest latency of the server`() async throws {
        let one = ScriptedUpstream("one", in: harness) { $0 < 30 ? .answer(40) : .answer(900) }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(30) })
        for _ in 0..<30 { #expect(try await harness.ask(group) == .success("one")) }
        _ = harness.takeAsked()
        let before = harness.elapsed
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeAsked() == "one@\(before) two@\(before + 180)")
    }

    @Test
    @ServiceLoop
    func `slow names do not lengthen the hedging delay of other names`() async throws {
        let one = ScriptedUpstream("one", in: harness, own: .answer(20)) { _ in .answer(390) }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(1) })
        for _ in 0..<50 { _ = try await harness.ask(group) }
        await harness.advance(by: .seconds(1))
        #expect(group.health.health(of: one).patience <= .milliseconds(400))
        one.script = { _ in .answer(20) }
        _ = try await harness.ask(group)
        one.script = { _ in .answer(990) }
        for _ in 0..<50 {
            _ = try await harness.ask(group)
            await harness.advance(by: .seconds(2))
        }
        #expect(group.health.health(of: one).patience == .milliseconds(140))
    }

    @Test
    @ServiceLoop
    func `a probe measures the hedging delay of a distant server`() async throws {
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in .answer(430) }
        let group = harness.group(one)
        #expect(group.health.health(of: one).patience == .milliseconds(400))
        _ = try await harness.ask(group)
        await harness.advance(by: .seconds(2))
        #expect(harness.takeChecked() == "one@400 one@800 one@830 one@1260")
        #expect(group.health.health(of: one).patience == .milliseconds(960))
    }

    @Test
    @ServiceLoop
    func `a query is sent again if its datagram is lost`() async throws {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero) {
            $0 < 2 ? .silence : .answer(10)
        }
        #expect(try await harness.ask(harness.group(one)) == .success("one"))
        #expect(harness.takeAsked() == "one@0 one@400 one@810")
        #expect(one.repeats == 2)
    }

    @Test
    @ServiceLoop
    func `the third attempt goes to another upstream than the first two attempts`() async throws {
        let silent = (0..<4).map { _ in
            ScriptedUpstream("one", in: harness, isProtected: true) { _ in .silence }
        }
        let two = ScriptedUpstream("two", in: harness, isProtected: true) { _ in .answer(10) }
        for server in silent { server.own = .answer(10) }
        let group = UpstreamGroup(
            silent + [two],
            health: HealthTable(clocks: harness.world.clocks)
        )
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeAsked() == "one@0 one@400 two@800")
    }

    @Test
    @ServiceLoop
    func `a query is sent a third time if the server has since answered a second query`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero) {
            $0 < 2 ? .silence : .answer(10)
        }
        one.own = .silence
        let group = harness.group(one)
        var isAnswered = false
        let end = harness.world.now + .seconds(4)
        group.ask(
            UpstreamHarness.query,
            deadline: end,
            Completion { isAnswered = (try? $0.get()) != nil }
        )
        await harness.advance(by: .milliseconds(500))
        #expect(try await harness.ask(group) == .success("one"))
        await harness.advance(by: .milliseconds(310))
        #expect(isAnswered)
        #expect(harness.takeAsked() == "one@0 one@400 one@500 one@800")
    }

    @Test
    @ServiceLoop
    func `a query over a stream is repeated after a second at the earliest`() async throws {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .seconds(1)) { number in
            number == 0 ? .silence : .answer(10)
        }
        #expect(try await harness.ask(harness.group(one)) == .success("one"))
        #expect(harness.takeAsked() == "one@0 one@1000")
        #expect(one.repeats == 1)
    }

    @Test
    @ServiceLoop
    func `an unprotected upstream is used before the deadline if protected upstreams fail`()
        async throws
    {
        let doh = ScriptedUpstream("doh", in: harness, isProtected: true) { _ in .silence }
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .silence }
        let group = harness.group(
            doh,
            dot,
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) }
        )
        #expect(try await harness.ask(group, within: .milliseconds(2_400)) == .success("isp"))
        #expect(harness.takeAsked() == "doh@0 dot@400 isp@1900")
        #expect(harness.takeChecked() == "doh@400 dot@800 doh@800 dot@1200")
        #expect(doh.waits == [1_600])
        #expect(dot.waits == [1_333])
    }

    @Test
    @ServiceLoop
    func `no name is sent in the clear while the connection to a distant server opens`()
        async throws
    {
        // The first reply takes three round trips of 0.75 s.
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true, repeatsAfter: .seconds(1))
        {
            _ in .answer(2_250)
        }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        _ = try await harness.ask(group)
        await harness.advance(by: .seconds(1))
        dot.script = { _ in .answer(750) }
        #expect(try await harness.ask(group) == .success("dot"))
        #expect(!harness.takeAsked().contains("isp"))
    }

    @Test
    @ServiceLoop
    func `a protected server backs off after its timeout and a failed probe`() async throws {
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true, repeatsAfter: .seconds(1))
        {
            _ in .silence
        }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group) == .success("isp"))
        #expect(harness.takeAsked() == "dot@0 dot@1000 isp@2900")
        #expect(harness.takeChecked() == "dot@400 dot@800")
        #expect(try await harness.ask(group) == .success("isp"))
        #expect(harness.takeAsked() == "isp@2901")
    }

    @Test(arguments: [
        ScriptedUpstream.Step.silence, .fail(.declined(.servFail), 5), .fail(.broken("reset"), 5),
        .fail(.timedOut, 700), .fail(.exhausted("too many open files"), 1),
    ])
    @ServiceLoop
    func `no failing name is sent in the clear while the protected server is healthy`(
        _ step: ScriptedUpstream.Step
    ) async throws {
        let dot = ScriptedUpstream(
            "dot",
            in: harness,
            isProtected: true,
            repeatsAfter: .seconds(1),
            own: .answer(20)
        ) { _ in step }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        for _ in 0..<10 {
            guard case .failure = try await harness.ask(group) else {
                Issue.record("answered by the unprotected server")
                return
            }
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("dot") })
        #expect(group.health.health(of: dot).isFit)
    }

    @Test(arguments: [250, 400, 700])
    @ServiceLoop
    func `an unanswered name is not sent in the clear if the round trip to the server is long`(
        _ roundTrip: Int
    ) async throws {
        var isDead = false
        let dot = ScriptedUpstream(
            "dot",
            in: harness,
            isProtected: true,
            repeatsAfter: .seconds(1),
            own: .answer(roundTrip)
        ) { _ in isDead ? .silence : .answer(roundTrip) }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group) == .success("dot"))
        await harness.advance(by: .seconds(5))
        isDead = true
        dot.own = .answer(3 * roundTrip)
        for _ in 0..<3 {
            #expect(try await harness.ask(group) == .failure(.timedOut))
            await harness.advance(by: .seconds(5))
        }
        #expect(group.health.health(of: dot).isFit)
    }

    @Test
    @ServiceLoop
    func `a flood of failing names causes no query in the clear for other names`() async throws {
        var isDead = true
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true, own: .answer(20)) { _ in
            isDead ? .silence : .answer(20)
        }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        for _ in 0..<20 {
            isDead = true
            for _ in 0..<10 {
                let deadline = harness.world.now + .milliseconds(4_800)
                group.ask(UpstreamHarness.query, deadline: deadline, Completion { _ in })
            }
            await harness.advance(by: .milliseconds(500))
            isDead = false
            #expect(try await harness.ask(group) == .success("dot"))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("dot") })
    }

    @Test(arguments: [
        UpstreamError.unreachable("connect: refused"), .untrusted("expired"), .broken("reset"),
    ])
    @ServiceLoop
    func `an unprotected upstream is used immediately when connections fail`(
        _ failure: UpstreamError
    ) async throws {
        let group = harness.group(
            ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .fail(failure, 5) },
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) }
        )
        #expect(try await harness.ask(group) == .success("isp"))
        #expect(harness.takeAsked() == "dot@0 isp@10")
        #expect(harness.takeChecked() == "dot@5")
    }

    @Test
    @ServiceLoop
    func `an unprotected upstream is used if the protected upstream also declines probes`()
        async throws
    {
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true) { _ in
            .fail(.declined(.refused), 5)
        }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        for _ in 0..<3 {
            #expect(try await harness.ask(group) == .failure(.declined(.refused)))
            await harness.advance(by: UpstreamLimits.probeSpacing)
        }
        #expect(try await harness.ask(group) == .success("isp"))
    }

    @Test
    @ServiceLoop
    func `a protected upstream is used first, even if the settings list it last`()
        async throws
    {
        let group = harness.group(
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) },
            ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .answer(1) }
        )
        #expect(try await harness.ask(group) == .success("dot"))
    }

    @Test
    @ServiceLoop
    func `a faster unprotected upstream does not replace a protected upstream`() async throws {
        let group = harness.group(
            ScriptedUpstream("doh", in: harness, isProtected: true) { _ in .answer(300) },
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) }
        )
        for _ in 0..<20 {
            #expect(try await harness.ask(group) == .success("doh"))
            await harness.advance(by: .seconds(30))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("doh") })
    }

    @Test
    @ServiceLoop
    func `a faster server of the network does not replace a configured upstream`() async throws {
        let learned = LearnedUpstream(name: "network", url: "network", timeout: .seconds(2))
        learned.use([ScriptedUpstream("lan", in: harness) { _ in .answer(1) }])
        let group = harness.group(
            learned,
            ScriptedUpstream("far", in: harness) { _ in .answer(250) }
        )
        for _ in 0..<20 {
            #expect(try await harness.ask(group) == .success("far"))
            await harness.advance(by: .seconds(30))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("far") })
    }

    @Test
    @ServiceLoop
    func `a pause or a loop of a protected upstream causes no query in the clear`() async throws {
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .answer(20) }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(group.health.pause("dot"))
        #expect(try await harness.ask(group) == .failure(.paused))
        #expect(group.health.resume("dot"))
        _ = group.health.update(dot) { $0.looped(now: harness.world.now) }
        #expect(try await harness.ask(group) == .failure(.loop))
        #expect(harness.takeAsked() == "")
    }

    @Test
    @ServiceLoop
    func `another protected upstream takes the place of a paused upstream`() async throws {
        let group = harness.group(
            ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .answer(20) },
            ScriptedUpstream("doh", in: harness, isProtected: true) { _ in .answer(20) },
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) }
        )
        #expect(group.health.pause("dot"))
        #expect(try await harness.ask(group) == .success("doh"))
        #expect(group.health.pause("doh"))
        #expect(try await harness.ask(group) == .failure(.paused))
    }

    @Test
    @ServiceLoop
    func `a paused upstream causes an outage only if no other server is in service`() async throws {
        let (dot, doh) = (
            ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .answer(20) },
            ScriptedUpstream("doh", in: harness, isProtected: true) { _ in .answer(20) }
        )
        let group = harness.group(
            dot,
            doh,
            ScriptedUpstream("isp", in: harness) { _ in .answer(1) }
        )
        func fail(_ server: ScriptedUpstream) {
            let now = harness.world.now
            _ = group.health.update(server) { $0.failedProbe(.timedOut, began: now, now: now) }
        }
        fail(doh)
        #expect(group.pauseOutage == nil)
        #expect(group.health.pause("dot"))
        let excluded =
            "no upstream is left, because plain upstreams do not replace the paused encrypted "
            + "upstream dot"
        #expect(group.pauseOutage?.reason == excluded)
        #expect(group.standing.map(\.isUsed) == [true, false, false])
        #expect(group.standing.map(\.server.name) == ["doh", "dot", "isp"])
        #expect(group.standing.last?.blocker?.name == "dot")
        #expect(group.health.pause("isp"))
        let down = "no upstream is left, because dot is paused and no other upstream works"
        #expect(group.pauseOutage?.reason == down)
        #expect(group.health.pause("doh"))
        #expect(group.pauseOutage?.reason == "all upstreams are paused")
        #expect(group.health.resume("isp") && group.health.resume("doh"))
        fail(dot)
        #expect(group.pauseOutage == nil)
    }

    @Test
    @ServiceLoop
    func `a protected upstream that answers other queries is not replaced after an HTTP error`()
        async throws
    {
        // If a client exceeds its rate limit, nginx replies with status 503. Even then, the names
        // of other clients must not be sent in the clear.
        var isLimited = false
        let doh = ScriptedUpstream("doh", in: harness, isProtected: true) { _ in
            isLimited ? .fail(.httpStatus(503), 5) : .answer(5)
        }
        let group = harness.group(doh, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        for round in 0..<40 {
            isLimited = round % 10 != 0
            let expected: Result<String, UpstreamError> =
                isLimited ? .failure(.httpStatus(503)) : .success("doh")
            #expect(try await harness.ask(group) == expected)
            await harness.advance(by: UpstreamLimits.probeSpacing)
            isLimited = false
            await harness.advance(by: .seconds(60))
        }
    }

    @Test
    @ServiceLoop
    func `a protected upstream that declines queries, then is silent, is replaced soon`()
        async throws
    {
        let doh = ScriptedUpstream("doh", in: harness, isProtected: true) { _ in .answer(5) }
        let group = harness.group(doh, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group) == .success("doh"))
        doh.script = { _ in .fail(.httpStatus(503), 5) }
        for _ in 0..<60 {
            #expect(try await harness.ask(group) == .failure(.httpStatus(503)))
            await harness.advance(by: .seconds(1))
        }
        doh.script = { _ in .silence }
        #expect(try await harness.ask(group) == .failure(.timedOut))
        #expect(try await harness.ask(group) == .success("isp"))
    }

    @Test
    @ServiceLoop
    func `the rate limit of a protected upstream causes no query in the clear`()
        async throws
    {
        let doh = ScriptedUpstream("doh", in: harness, isProtected: true) { _ in
            .fail(.rateLimited, 5)
        }
        let group = harness.group(doh, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        for _ in 0..<10 {
            #expect(try await harness.ask(group) == .failure(.rateLimited))
            await harness.advance(by: UpstreamLimits.probeSpacing)
        }
        #expect(!group.health.health(of: doh).isFit)
        doh.script = { _ in .silence }
        await harness.advance(by: .seconds(10))
        #expect(try await harness.ask(group) == .failure(.timedOut))
        #expect(try await harness.ask(group) == .success("isp"))
    }

    @Test(arguments: [(40, false), (nil, true)])
    @ServiceLoop
    func `a reply reports whether the first attempt was answered in time`(
        _ first: Int?,
        _ wasRepeated: Bool
    ) async throws {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero) { number in
            number > 0 ? .answer(20) : first.map { .answer($0) } ?? .silence
        }
        let group = harness.group(one)
        let end = harness.world.now + .seconds(4)
        let query = harness.world.begin {
            try? await group.exchange(UpstreamHarness.query, deadline: end)
        }
        let reply = try #require(try await harness.world.value(of: query))
        #expect(reply.wasRepeated == wasRepeated)
    }

    @Test
    @ServiceLoop
    func `the query of a client with an excessive load is sent once to each server`() async throws {
        let servers = ["one", "two"].map {
            ScriptedUpstream($0, in: harness, repeatsAfter: .zero) { _ in .silence }
        }
        let group = harness.group(servers[0], servers[1])
        var hasFailed = false
        group.ask(
            UpstreamHarness.query,
            deadline: harness.world.now + .seconds(4),
            load: .excessive,
            Completion { hasFailed = if case .failure = $0 { true } else { false } }
        )
        await harness.advance(by: .seconds(4))
        #expect(hasFailed)
        #expect(harness.takeAsked() == "one@0 two@400")
    }

    @Test(arguments: [RCode.refused, .servFail])
    @ServiceLoop
    func `a protected upstream that declines all queries is replaced after ten minutes`(
        _ rcode: RCode
    ) async throws {
        let dot = ScriptedUpstream("dot", in: harness, isProtected: true) { _ in .answer(5) }
        let group = harness.group(dot, ScriptedUpstream("isp", in: harness) { _ in .answer(1) })
        #expect(try await harness.ask(group) == .success("dot"))
        dot.script = { _ in .fail(.declined(rcode), 5) }
        for _ in 0..<59 {
            await harness.advance(by: .seconds(10))
            #expect(try await harness.ask(group) == .failure(.declined(rcode)))
        }
        #expect(!group.health.health(of: dot).isFit)
        // The first probe after the ten minutes can be sent up to a minute later.
        await harness.advance(by: .seconds(90))
        _ = try await harness.ask(group)
        await harness.advance(by: .seconds(1))
        #expect(try await harness.ask(group) == .success("isp"))
    }

    @Test
    @ServiceLoop
    func `a clearly slower upstream loses its first place until it is fast again`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness) { _ in .answer(300) }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(20) })
        for _ in 0..<3 {
            #expect(try await harness.ask(group) == .success("one"))
            await harness.advance(by: .seconds(1))
        }
        #expect(harness.takeAsked() == "one@0 one@1300 one@2600")
        #expect(harness.takeChecked() == "one@1300 one@1600 two@2600 two@2620")
        for _ in 0..<5 { #expect(try await harness.ask(group) == .success("two")) }
        #expect(harness.takeAsked().contains("one") == false)
        one.script = { _ in .answer(10) }
        for _ in 0..<30 {
            await harness.advance(by: .seconds(61))
            _ = try await harness.ask(group)
        }
        #expect(try await harness.ask(group) == .success("one"))
    }

    @Test
    @ServiceLoop
    func `slow names do not change the order of the servers`() async throws {
        let one = ScriptedUpstream("one", in: harness, own: .answer(20)) { _ in .answer(130) }
        let group = harness.group(
            one,
            ScriptedUpstream("two", in: harness, own: .answer(20)) { _ in .answer(1) }
        )
        for _ in 0..<20 {
            #expect(try await harness.ask(group) == .success("one"))
            await harness.advance(by: .seconds(30))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("one") })
    }

    @Test
    @ServiceLoop
    func `while the first upstream is fast, no name is sent to other upstreams`() async throws {
        let group = harness.group(
            ScriptedUpstream("one", in: harness) { _ in .answer(30) },
            ScriptedUpstream("two", in: harness) { _ in .answer(1) }
        )
        for _ in 0..<50 {
            #expect(try await harness.ask(group) == .success("one"))
            await harness.advance(by: .seconds(10))
        }
        #expect(harness.asked.allSatisfy { $0.hasPrefix("one") })
    }

    @Test(arguments: [
        (UpstreamError.timedOut, "timeout", "timed out"),
        (.unreachable("connect: refused"), "unreachable", "connect: refused"),
        (.declined(.servFail), "declined", "returned SERVFAIL"),
        (
            .declined(.servFail, because: .dnssecBogus), "declined",
            "returned SERVFAIL (DNSSEC Bogus)"
        ),
        (.broken("closed"), "broken", "closed"),
        (.untrusted("expired"), "untrusted", "cannot be trusted: expired"),
        (.rateLimited, "rate-limited", "returned HTTP status 429"),
        (.httpStatus(503), "declined", "returned HTTP status 503"),
        (.loop, "loop", "forwards queries back to this daemon"),
        (.exhausted("socket: too many"), "exhausted", "socket: too many"),
    ])
    func `each kind of upstream error has a metric label and a description`(
        _ failure: UpstreamError,
        _ kind: String,
        _ words: String
    ) {
        #expect(failure.kind == kind)
        #expect(failure.description == words)
    }

    @Test
    @ServiceLoop
    func `an upstream with two addresses is two servers with summed counters`() async throws {
        let servers = ["a", "b"].map { name in
            ScriptedUpstream(name, in: harness) { _ in
                name == "a" ? .fail(.broken("no"), 5) : .answer(5)
            }
        }
        servers[0].numbers.queries = 3
        servers[0].numbers.consecutiveFailures = 3
        servers[0].numbers.failures = ["broken": 3]
        servers[1].numbers.queries = 2
        servers[1].numbers.successes = 2
        let both = Upstream(url: "tls://dns.example", servers: servers, latency: LatencyHistogram())
        #expect(both.numbers.queries == 5)
        #expect(both.numbers.successes == 2)
        #expect(both.numbers.failures == ["broken": 3])
        #expect(both.numbers.consecutiveFailures == 0)
        let last = ScriptedUpstream("c", in: harness) { _ in .answer(1) }
        #expect(try await harness.ask(harness.group(both, last)) == .success("b"))
        #expect(harness.takeAsked() == "a@0 b@5")
        both.networkChanged()
        #expect(servers.map(\.resets) == [1, 1])
    }
}
