// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("The health of upstreams", .timeLimit(.minutes(15)))
struct UpstreamHealthTests {
    private let harness = UpstreamHarness()

    @ServiceLoop
    private final class Log {
        var lines: [String] = []

        init(_ group: UpstreamGroup) {
            group.health.report = { [weak self] in self?.lines.append($0.text) }
        }
    }

    @Test
    @ServiceLoop
    func `a server that fails a query and a probe backs off until a probe succeeds`() async throws {
        var isDown = true
        let one = ScriptedUpstream("one", in: harness) { _ in
            isDown ? .fail(.unreachable("no route"), 5) : .answer(20)
        }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(20) })
        let log = Log(group)
        #expect(try await harness.ask(group) == .success("two"))
        #expect(log.lines == ["upstream one (scripted, unprotected): backing off: no route"])
        #expect(harness.takeAsked() == "one@0 two@5")
        #expect(harness.takeChecked() == "one@5")
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeAsked().contains("one") == false)
        await harness.advance(by: .seconds(1))
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeChecked().contains("one"))
        await harness.advance(by: .milliseconds(1_500))
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeChecked() == "")
        isDown = false
        await harness.advance(by: .seconds(1))
        #expect(try await harness.ask(group) == .success("two"))
        await harness.advance(by: .milliseconds(50))
        #expect(log.lines.last == "upstream one (scripted, unprotected): answers again")
        #expect(harness.takeAsked().contains("one") == false)
        #expect(try await harness.ask(group) == .success("one"))
        #expect(log.lines.count == 2)
    }

    @Test
    @ServiceLoop
    func `a group has no protected server while its encrypted upstream is down`() async throws {
        var isDown = true
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in
            isDown ? .fail(.unreachable("no route"), 5) : .answer(20)
        }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(20) })
        #expect(group.hasProtectedServer)
        #expect(try await harness.ask(group) == .success("two"))
        #expect(!group.hasProtectedServer)
        isDown = false
        await harness.advance(by: .seconds(6))
        _ = try await harness.ask(group)
        await harness.advance(by: .milliseconds(50))
        #expect(group.hasProtectedServer)
    }

    @Test
    @ServiceLoop
    func `servers are probed only after a failure, or when a query needs a server`() async throws {
        let one = ScriptedUpstream("one", in: harness) { _ in .answer(20) }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(20) }
        let group = harness.group(one, two)
        for _ in 0..<10 { _ = try await harness.ask(group) }
        one.script = { _ in .silence }
        _ = try await harness.ask(group)
        await harness.advance(by: .seconds(2))
        #expect(harness.takeChecked().split(separator: " ").count == 2)
        await harness.advance(by: .seconds(600))
        #expect(harness.takeChecked() == "")
    }

    @Test
    @ServiceLoop
    func `many failing names cause at most two probes a second`() async throws {
        let one = ScriptedUpstream("one", in: harness, own: .answer(5)) { _ in
            .fail(.declined(.servFail), 1)
        }
        let group = harness.group(one)
        for _ in 0..<1_000 {
            _ = try await harness.ask(group)
            await harness.advance(by: .milliseconds(9))
        }
        #expect(harness.checked.count <= 1 + harness.elapsed / 500)
        #expect(group.health.health(of: one).isFit)
    }

    @Test
    @ServiceLoop
    func `a timed-out query starts no probe if the server has answered other queries since`()
        async throws
    {
        var number = 0
        let one = ScriptedUpstream("one", in: harness, own: .silence) { _ in
            number += 1
            return number == 1 ? .silence : .answer(20)
        }
        let group = harness.group(one)
        let end = harness.world.now + .seconds(2)
        group.ask(UpstreamHarness.query, deadline: end, Completion { _ in })
        await harness.advance(by: .milliseconds(100))
        #expect(try await harness.ask(group) == .success("one"))
        await harness.advance(by: .milliseconds(200))
        #expect(harness.takeChecked() == "")
        #expect(group.health.health(of: one).isFit)
    }

    @Test
    @ServiceLoop
    func `a probe is sent again if its datagram is lost`() async throws {
        var probes = 0
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero) { _ in .silence }
        let group = harness.group(one)
        let end = harness.world.now + .seconds(2)
        group.ask(UpstreamHarness.query, deadline: end, Completion { _ in })
        await harness.advance(by: .milliseconds(700))
        one.own = .answer(10)
        await harness.advance(by: .seconds(2))
        probes = harness.takeChecked().split(separator: " ").count
        #expect(probes == 5)
        #expect(group.health.health(of: one).isFit)
    }

    @Test(arguments: [300, 700, 1_500, 2_200])
    @ServiceLoop
    func `a query is answered after a short outage of the only server`(_ outage: Int) async throws {
        var isSilent = true
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero) { _ in
            isSilent ? .silence : .answer(10)
        }
        one.own = .silence
        let group = harness.group(one)
        var result: Result<UpstreamGroup.Reply, UpstreamError>?
        let end = harness.world.now + .milliseconds(4_800)
        group.ask(UpstreamHarness.query, deadline: end, Completion { result = $0 })
        await harness.advance(by: .milliseconds(outage))
        (isSilent, one.own) = (false, .answer(10))
        await harness.advance(by: .seconds(1))
        #expect(throws: Never.self) { try result?.get() }
        #expect(result != nil)
        #expect(harness.asked.count <= UpstreamLimits.roundsAlone)
    }

    @Test(arguments: [1, 3])
    @ServiceLoop
    func `while no server can be authenticated, only probes connect, once per second`(_ count: Int)
        async throws
    {
        let expired = UpstreamError.untrusted("expired")
        let servers = (0..<count).map {
            ScriptedUpstream("\($0)", in: harness, isProtected: true) { _ in .fail(expired, 10) }
        }
        let group = UpstreamGroup(servers, health: HealthTable(clocks: harness.world.clocks))
        #expect(try await harness.ask(group) == .failure(expired))
        await harness.advance(by: .milliseconds(100))
        _ = harness.takeAsked()
        _ = harness.takeChecked()
        for _ in 0..<100 {
            #expect(try await harness.ask(group) == .failure(expired))
            await harness.advance(by: .milliseconds(100))
        }
        #expect(harness.takeAsked() == "")
        let probes = harness.takeChecked().split(separator: " ").count
        #expect((9 * count...12 * count).contains(probes))
        servers[count - 1].script = { _ in .answer(10) }
        await harness.advance(by: .seconds(1))
        #expect(try await harness.ask(group) == .success("\(count - 1)"))
        #expect(harness.asked.count == 1)
    }

    @Test
    @ServiceLoop
    func `after an outage without queries, the first name is not sent in the clear`() async throws {
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in .silence }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        #expect(try await harness.ask(group) == .success("two"))
        one.script = { _ in .answer(10) }
        await harness.advance(by: .seconds(20))
        #expect(try await harness.ask(group) == .success("one"))
    }

    @Test
    @ServiceLoop
    func `an encrypted server that was paused during an outage is probed when it is resumed`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in .silence }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        #expect(try await harness.ask(group) == .success("two"))
        #expect(group.health.pause("one"))
        await harness.advance(by: .seconds(20))
        one.script = { _ in .answer(10) }
        _ = harness.takeChecked()
        await harness.advance(by: .seconds(20))
        #expect(harness.takeChecked() == "")
        #expect(group.health.resume("one"))
        await harness.advance(by: .milliseconds(100))
        #expect(try await harness.ask(group) == .success("one"))
        #expect(!group.health.resume("one"))
    }

    @Test
    @ServiceLoop
    func `a probe from before a network change does not decide the health after the change`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness, isProtected: true, own: .silence) { _ in
            .silence
        }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        let log = Log(group)
        var outcomes: [Result<String, UpstreamError>] = []
        func ask() {
            let deadline = harness.world.now + .milliseconds(4_800)
            let completion = Completion<UpstreamGroup.Outcome> {
                outcomes.append($0.map(\.upstream.name))
            }
            group.ask(UpstreamHarness.query, deadline: deadline, completion)
        }
        ask()
        await harness.advance(by: .milliseconds(1_000))
        #expect(harness.takeChecked() == "one@400 one@800")
        group.health.networkChanged()
        one.own = .answer(2_400)
        ask()
        await harness.advance(by: .milliseconds(1_800))
        #expect(harness.takeChecked() == "one@1400 one@1800")
        one.own = .answer(10)
        one.script = { _ in .answer(10) }
        await harness.advance(by: .milliseconds(5_000))
        #expect(outcomes == [.success("one"), .success("one")])
        #expect(log.lines == [])
        #expect(!harness.takeAsked().contains("two"))
        #expect(group.health.health(of: one).isFit)
    }

    @Test
    @ServiceLoop
    func `a probe that ends because the network removed its server shows no outage`() async throws {
        let one = ScriptedUpstream("one", in: harness, own: .fail(.withdrawn, 5)) { _ in .silence }
        let group = harness.group(one)
        let log = Log(group)
        group.health.probe(one, until: harness.world.now + .seconds(2))
        await harness.advance(by: .seconds(2))
        #expect(harness.takeChecked() == "one@0")
        #expect(log.lines == [])
        #expect(group.health.health(of: one).isFit)
    }

    @Test(arguments: [false, true])
    @ServiceLoop
    func `a loop probe does not retain a server that was removed`(isReload: Bool) async throws {
        let health = HealthTable(clocks: harness.world.clocks)
        var one: ScriptedUpstream? = ScriptedUpstream("one", in: harness) { _ in .answer(10) }
        weak let server = one
        health.seekLoop(
            through: try #require(one),
            failedSince: harness.world.now - UpstreamLimits.loopTime
        )
        await harness.advance(by: .milliseconds(100))
        #expect(harness.probed == ["one@0"])
        if isReload { health.keep(only: []) } else { health.forget(try #require(one)) }
        one = nil
        await harness.advance(by: UpstreamLimits.loopWait)
        #expect(server == nil)
    }

    @Test
    @ServiceLoop
    func `an untrusted server is not queried in the place of a silent server`() async throws {
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in
            .fail(.untrusted("expired"), 10)
        }
        let two = ScriptedUpstream("two", in: harness, isProtected: true) { _ in .silence }
        let group = harness.group(one, two)
        _ = try await harness.ask(group)
        await harness.advance(by: .seconds(3))
        #expect(!group.health.health(of: one).isFit && !group.health.health(of: two).isFit)
        _ = harness.takeAsked()
        #expect(try await harness.ask(group) == .failure(.timedOut))
        #expect(!harness.takeAsked().contains("one"))
        two.script = { _ in .answer(10) }
        #expect(try await harness.ask(group) == .success("two"))
    }

    @Test
    @ServiceLoop
    func `a plain upstream replaces an untrusted server only after a failed probe`() async throws {
        let one = ScriptedUpstream("one", in: harness, isProtected: true, own: .answer(50)) { _ in
            .fail(.untrusted("expired"), 10)
        }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        for _ in 0..<5 {
            #expect(try await harness.ask(group) == .failure(.untrusted("expired")))
            await harness.advance(by: .seconds(1))
        }
        #expect(!harness.takeAsked().contains("two"))
        one.own = .fail(.untrusted("expired"), 50)
        #expect(try await harness.ask(group) == .success("two"))
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.asked.count { $0.hasPrefix("one") } == UpstreamLimits.rounds)
    }

    @Test
    @ServiceLoop
    func `if some connections get an invalid certificate, no name is sent in the clear`()
        async throws
    {
        let expired = ScriptedUpstream.Step.fail(.untrusted("expired"), 10)
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { index in
            index % 2 == 1 ? expired : .answer(10)
        }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        for index in 0..<20 {
            one.own = index % 4 == 0 ? .answer(10) : expired
            #expect(try await harness.ask(group) == .success("one"), "\(index)")
            await harness.advance(by: .seconds(1))
        }
        one.script = { _ in expired }
        one.own = expired
        #expect(try await harness.ask(group) == .success("two"))
    }

    @Test
    @ServiceLoop
    func `an encrypted server that ignores the first question of a probe is not down`() async throws
    {
        let one = ScriptedUpstream("one", in: harness, isProtected: true, own: .silence) { index in
            index == 1 ? .silence : .answer(10)
        }
        one.other = .answer(10)
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(10) }
        let group = harness.group(one, two)
        for index in 0..<10 {
            let result = try await harness.ask(group)
            if index != 1 { #expect(result == .success("one"), "\(index)") }
            await harness.advance(by: .seconds(4))
        }
        #expect(!harness.takeAsked().contains("two"))
        one.other = .silence
        one.script = { _ in .silence }
        #expect(try await harness.ask(group) == .success("two"))
    }

    @Test(arguments: [
        (false, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]), (true, [1, 2, 4, 5, 5, 5, 5, 5, 5, 5]),
    ])
    @ServiceLoop
    func `the back-off time doubles up to one minute, or 5 s for an encrypted server`(
        isProtected: Bool,
        expected: [Int]
    ) {
        var health = ServerHealth()
        var now = harness.world.start
        func fail() {
            let began = health.beginProbe(now: now)
            #expect(began != nil && !health.isDue(at: now))
            now = began ?? now
            _ = health.failedProbe(.timedOut, isProtected: isProtected, began: now, now: now)
        }
        fail()
        var rests: [Int] = []
        for _ in 0..<10 {
            var length = 0
            while !health.isDue(at: now + .seconds(length)) { length += 1 }
            rests.append(length)
            now = now + .seconds(length)
            fail()
        }
        #expect(rests == expected)
        _ = health.beginProbe(now: now)
        let isWell = health.passedProbe(now: now)
        #expect(isWell)
        #expect(health.isFit)
    }

    @Test
    @ServiceLoop
    func `the report of a server has the end and reason of its back-off, or its latency`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness) { _ in .fail(.unreachable("no route"), 5) }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(20) }
        let group = harness.group(one, two)
        #expect(group.health.report(of: one) == (.up, nil))
        _ = try await harness.ask(group)
        let report = group.health.report(of: one)
        guard case .rests(let end, let why) = report.condition else {
            Issue.record("\(report)")
            return
        }
        #expect(why == .unreachable("no route"))
        #expect(end > harness.world.now && end <= harness.world.now + .seconds(1))
        #expect(report.latency == nil)
        #expect(group.health.report(of: two) == (.up, .milliseconds(20)))
    }

    @Test
    @ServiceLoop
    func `if all servers are backed off, all are queried`() async throws {
        var isDown = true
        let step: (Int) -> ScriptedUpstream.Step = { _ in
            isDown ? .fail(.unreachable("no route"), 5) : .answer(20)
        }
        let group = harness.group(
            ScriptedUpstream("one", in: harness, step),
            ScriptedUpstream("two", in: harness, step)
        )
        for _ in 0..<10 {
            #expect(try await harness.ask(group) == .failure(.unreachable("no route")))
        }
        isDown = false
        #expect(try await harness.ask(group) == .success("one"))
    }

    @Test
    @ServiceLoop
    func `a declined name does not affect a server's health`() async throws {
        let one = ScriptedUpstream("one", in: harness, own: .answer(5)) { _ in
            .fail(.declined(.servFail), 5)
        }
        let two = ScriptedUpstream("two", in: harness, own: .answer(5)) { _ in
            .fail(.declined(.servFail), 5)
        }
        let group = harness.group(one, two)
        for _ in 0..<10 {
            #expect(try await harness.ask(group) == .failure(.declined(.servFail)))
        }
        #expect(group.health.health(of: one).isFit)
        #expect(group.health.health(of: two).isFit)
    }

    @Test
    @ServiceLoop
    func `a server that declines three probes backs off`() async throws {
        let one = ScriptedUpstream("one", in: harness) { _ in .fail(.declined(.refused), 5) }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(5) })
        for _ in 0..<3 {
            #expect(group.health.health(of: one).isFit)
            #expect(try await harness.ask(group) == .success("two"))
            await harness.advance(by: UpstreamLimits.probeSpacing)
        }
        #expect(!group.health.health(of: one).isFit)
    }

    @Test
    @ServiceLoop
    func `a probe succeeds if the server refuses the first question and answers the second`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness, isProtected: true) { _ in
            .fail(.declined(.servFail), 5)
        }
        one.own = .fail(.declined(.refused), 5)
        one.other = .answer(5)
        let group = harness.group(one, ScriptedUpstream("plain", in: harness) { _ in .answer(5) })
        for _ in 0..<10 {
            #expect(try await harness.ask(group) == .failure(.declined(.servFail)))
            await harness.advance(by: UpstreamLimits.probeSpacing)
        }
        #expect(group.health.health(of: one).isFit)
        #expect(harness.takeAsked().contains("plain") == false)
    }

    @Test
    @ServiceLoop
    func `groups share the health of their upstreams`() async throws {
        let one = ScriptedUpstream("one", in: harness) { _ in .fail(.broken("no"), 5) }
        let two = ScriptedUpstream("two", in: harness) { _ in .answer(5) }
        let book = HealthTable(clocks: harness.world.clocks)
        let groups = [
            UpstreamGroup([one, two], health: book), UpstreamGroup([one, two], health: book),
        ]
        for _ in 0..<3 { _ = try await harness.ask(groups[0]) }
        _ = harness.takeAsked()
        _ = try await harness.ask(groups[1])
        #expect(harness.takeAsked().contains("one") == false)
    }

    @Test
    @ServiceLoop
    func `forged replies are reported once per closed socket`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness) { _ in .answer(5) }
        let group = harness.group(one)
        let log = Log(group)
        _ = try await harness.ask(group)
        #expect(log.lines == [])
        one.forgeries = 1
        for _ in 0..<3 { _ = try await harness.ask(group) }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].contains("match no query"))
    }

    @Test
    @ServiceLoop
    func `an upstream that sends queries back to the daemon is not used until the loop ends`()
        async throws
    {
        let one = ScriptedUpstream("one", in: harness) { _ in .silence }
        let group = harness.group(one)
        let log = Log(group)
        #expect(try await harness.ask(group) == .failure(.timedOut))
        let probe = try #require(one.questions.first { $0.type == .txt })
        #expect(probe.name.text.hasSuffix(".loop-probe.httpdnsd"))
        #expect(!group.health.recognises(Question(name: "x.loop-probe.httpdnsd", type: .txt)))
        #expect(
            !group.health.recognises(
                Question(name: "0123456789abcdef.loop-probe.httpdnsd", type: .txt)
            )
        )
        #expect(group.health.recognises(probe))
        #expect(log.lines.last?.contains("back to this daemon, so the daemon ignores") == true)
        let end = harness.world.now + UpstreamLimits.loopRest
        #expect(group.health.report(of: one).condition == .loops(until: end))
        _ = harness.takeAsked()
        #expect(try await harness.ask(group) == .failure(.loop))
        #expect(harness.takeAsked() == "")
        await harness.advance(by: UpstreamLimits.loopRest)
        #expect(try await harness.ask(group) == .failure(.loop))
        await harness.advance(by: .milliseconds(10))
        #expect(harness.takeAsked() == "")
        #expect(harness.probed.count == 2)
        one.script = { _ in .answer(5) }
        await harness.advance(by: .seconds(10))
        #expect(log.lines.last?.hasSuffix("no longer forwards queries back to this daemon") == true)
        #expect(try await harness.ask(group) == .success("one"))
    }

    @Test
    @ServiceLoop
    func `a loop of one upstream does not affect other upstreams`() async throws {
        let one = ScriptedUpstream("one", in: harness) { _ in .silence }
        let group = harness.group(one, ScriptedUpstream("two", in: harness) { _ in .answer(5) })
        #expect(try await harness.ask(group) == .success("two"))
        await harness.advance(by: .seconds(2))
        let probe = try #require(one.questions.first { $0.type == .txt })
        #expect(group.health.recognises(probe))
        _ = harness.takeAsked()
        #expect(try await harness.ask(group) == .success("two"))
        #expect(harness.takeAsked().hasPrefix("two"))
    }
}

@Suite("Attempt plan of a query, under random events")
struct AttemptPlanTests {
    @Test(arguments: 0..<400)
    func `in any order of events, the plan keeps its limits and its deadline`(_ seed: Int) throws {
        var random = Seeded(seed: UInt64(seed))
        let start = Instant(nanoseconds: 0) + .seconds(1_000)
        var now = start
        let deadline = start + .milliseconds(4_800)
        let isRepeated = Bool.random(using: &random)
        let candidates = (0..<Int.random(in: 1...5, using: &random)).map { index in
            let pauses: [Duration?] = [nil, .zero, .seconds(1)]
            let pause = pauses.randomElement(using: &random) ?? nil
            return AttemptPlan.Candidate(
                server: index,
                isProtected: .random(using: &random),
                isDown: Int.random(in: 0..<4, using: &random) == 0,
                timeout: .milliseconds(.random(in: 100...3_000, using: &random)),
                patience: .milliseconds(.random(in: 100...1_000, using: &random)),
                repeatsAfter: pause,
                isLossy: isRepeated && pause == .zero && Bool.random(using: &random)
            )
        }
        var lossy = Set(candidates.filter(\.isLossy).map(\.server))
        var plan = AttemptPlan(ShortArray(candidates), deadline: deadline, isRepeated: isRepeated)
        var running: [Int: (server: Int, until: Instant)] = [:]
        var times: [Int: Int] = [:]
        var refused: Set<Int> = []
        var pauses: [Int: Instant] = [:]
        var suspects: Set<Int> = []
        var down = Set(candidates.filter(\.isDown).map(\.server))
        var hasEnded = false
        var hasAnswer = false

        func perform(_ move: AttemptPlan.Move?) {
            switch move {
            case .ask(let number, let server, let until, let since):
                #expect(!hasEnded && !hasAnswer && now < deadline)
                #expect(until <= deadline && until > now)
                #expect(until <= now + candidates[server].timeout || plan.usesStream(server))
                #expect(running[number] == nil && !refused.contains(server))
                #expect((since == nil) == (times[server] == nil))
                #expect(isRepeated || times[server] == nil)
                if let end = pauses[server] {
                    #expect(now >= end)
                    #expect(times[server, default: 0] < UpstreamLimits.roundsWithErrors)
                }
                #expect(
                    candidates[server].isProtected
                        || candidates.prefix(server).allSatisfy {
                            !$0.isProtected || down.contains($0.server)
                        }
                )
                for other in running.values {
                    #expect(
                        candidates[server].isProtected || !candidates[other.server].isProtected
                            || down.contains(other.server)
                    )
                    #expect(other.server != server || candidates[server].repeatsAfter != nil)
                }
                running[number] = (server, until)
                times[server, default: 0] += 1
                #expect(lossy.contains(server) || running.count <= UpstreamLimits.triesAtOnce)
                #expect(
                    plan.usesStream(server)
                        == (lossy.contains(server)
                            && times[server] == UpstreamLimits.roundsWithLosses)
                )
            case .end:
                #expect(running.isEmpty && !hasEnded && !hasAnswer)
                hasEnded = true
            case nil: break
            }
        }

        perform(plan.begin(now: now))
        var steps = 0
        while !running.isEmpty || !(hasEnded || hasAnswer) {
            steps += 1
            try #require(steps < 200)
            if let suspect = suspects.randomElement(using: &random),
                running.isEmpty || Int.random(in: 0..<4, using: &random) == 0
            {
                suspects.remove(suspect)
                if isRepeated, candidates[suspect].repeatsAfter == .zero {
                    lossy.insert(suspect)
                    plan.foundLossy(suspect)
                }
                let isDown = Bool.random(using: &random)
                if isDown { down.insert(suspect) } else { down.remove(suspect) }
                perform(plan.judged(suspect, isDown: isDown, now: now))
                continue
            }
            if running.isEmpty, let wake = plan.wake, wake < deadline {
                now = max(now, wake)
                perform(plan.tick(now: now))
                continue
            }
            guard !running.isEmpty else {
                Issue.record("the plan waits for no event")
                return
            }
            if Int.random(in: 0..<4, using: &random) == 0,
                let silent = running.values.randomElement(using: &random)
            {
                suspects.insert(silent.server)
                plan.suspected(silent.server)
            }
            let first = try #require(
                running.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
            )
            if let wake = plan.wake, wake <= first.value.until, Bool.random(using: &random) {
                now = max(now, wake)
                perform(plan.tick(now: now))
                continue
            }
            let ends: (key: Int, value: (server: Int, until: Instant)) =
                Bool.random(using: &random)
                ? first : try #require(running.randomElement(using: &random))
            let left = max(Duration.zero, ends.value.until - now)
            now = max(
                now,
                min(first.value.until, now + left * Double.random(in: 0...1, using: &random))
            )
            running[ends.key] = nil
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                let isFirst = plan.answered(ends.key)
                #expect(isFirst == (!hasAnswer && !hasEnded))
                hasAnswer = true
            case 1...2:
                refused.insert(ends.value.server)
                perform(plan.failed(ends.key, .never, now: now))
            case 3...5:
                pauses[ends.value.server] = now + UpstreamLimits.declinePause
                perform(plan.failed(ends.key, .afterPause, now: now))
            default:
                perform(plan.failed(ends.key, .allowed, now: now))
            }
        }
        #expect(hasEnded || hasAnswer)
        #expect(plan.wake == nil && plan.isOver)
        #expect(plan.count <= UpstreamLimits.tries)
        let isAlone = candidates.count == 1 && candidates[0].repeatsAfter != nil
        let most = isAlone ? UpstreamLimits.roundsAlone : UpstreamLimits.rounds
        #expect(
            times.allSatisfy {
                if lossy.contains($0.key) { return $0.value <= UpstreamLimits.roundsWithLosses }
                return $0.value <= (pauses[$0.key] == nil ? most : UpstreamLimits.roundsWithErrors)
            }
        )
    }

    @Test(arguments: 0..<400)
    func `each usable server occurs once, and protected servers keep their positions`(
        _ seed: Int
    ) {
        var random = Seeded(seed: UInt64(seed))
        let start = Instant(nanoseconds: 0) + .seconds(1_000)
        var entries: [ServerSelection.Entry] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            var health = ServerHealth()
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let time = Duration.milliseconds(Int.random(in: 1...500, using: &random))
                _ = health.answered(in: time, now: start - .seconds(1))
                health.measured(time)
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                _ = health.beginProbe(now: start)
                _ = health.failedProbe(.timedOut, began: start, now: start)
            }
            if Int.random(in: 0..<8, using: &random) == 0 { _ = health.looped(now: start) }
            entries.append(
                ServerSelection.Entry(isProtected: .random(using: &random), health: health)
            )
        }
        let now = start + .milliseconds(Int.random(in: 0...100_000, using: &random))
        let standing = ServerSelection(entries, now: now)
        let firstLoop = entries.indices.first {
            entries[$0].isProtected && entries[$0].health.loops && !entries[$0].health.isDown
        }
        let askable = entries.indices.filter { index in
            !entries[index].health.loops
                && (entries[index].isProtected || firstLoop.map { index < $0 } ?? true)
        }
        #expect(standing.order.sorted() == askable)
        let fit = askable.filter { entries[$0].health.isFit }
        // Two healthy servers change places only if both are protected, or both are unprotected.
        #expect(
            standing.order.prefix(fit.count).map { entries[$0].isProtected }
                == fit.map { entries[$0].isProtected }
        )
        if let measure = standing.measure, let first = standing.order.first {
            #expect(entries[measure].health.isFit)
            #expect(entries[measure].isProtected == entries[first].isProtected)
        }
    }
}
