// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("Samples of lost queries", .timeLimit(.minutes(5)))
struct LossSamplesTests {
    private let harness = UpstreamHarness()

    @ServiceLoop
    private func load(
        _ group: UpstreamGroup,
        _ load: ClientLoad = .high,
        _ prepare: (Int) -> Void = { _ in }
    ) async {
        for number in 0..<50 {
            prepare(number)
            group.ask(
                UpstreamHarness.query,
                deadline: harness.world.now + .seconds(4),
                load: load,
                Completion { _ in }
            )
            await harness.advance(by: .milliseconds(100))
        }
    }

    @ServiceLoop
    private func upstream(
        _ name: String = "one",
        isProtected: Bool = true,
        own: ScriptedUpstream.Step = .answer(5),
        _ script: @escaping (Int) -> ScriptedUpstream.Step
    ) -> ScriptedUpstream {
        ScriptedUpstream(
            name,
            in: harness,
            isProtected: isProtected,
            repeatsAfter: .zero,
            own: own,
            script
        )
    }

    @Test(arguments: [ClientLoad.high, .excessive])
    @ServiceLoop
    func `if one of three samples is lost, the upstream counts as dropping queries`(
        _ load: ClientLoad
    ) async {
        let one = upstream { _ in .answer(5) }
        let group = harness.group(one)
        await self.load(group, load) { one.own = $0 % 3 == 0 ? .silence : .answer(5) }
        #expect(group.dropsQueries(now: harness.world.now))
        await self.load(group, load) { _ in one.own = .answer(5) }
        #expect(!group.dropsQueries(now: harness.world.now))
    }

    @Test(arguments: [1, 2])
    @ServiceLoop
    func `a sample to a plain upstream is lost only if the network loses both datagrams`(
        _ lostInRow: Int
    ) async {
        let one = upstream(isProtected: false) { _ in .answer(5) }
        let group = harness.group(one)
        var sent: [Instant] = []
        one.ownScript = { [harness] in
            sent.append(harness.world.now)
            let earlier = sent.contains { harness.world.now - $0 == .seconds(1) }
            let isLost = sent.count % 3 == 0 || earlier && lostInRow == 2
            return isLost ? .silence : .answer(5)
        }
        for _ in 0..<2 { await load(group) }
        #expect(group.dropsQueries(now: harness.world.now) == (lostInRow == 2))
    }

    @Test
    @ServiceLoop
    func `a sample counts as lost if the upstream closes the connection of the sample`() async {
        let one = upstream { _ in .answer(5) }
        let group = harness.group(one, upstream("plain", isProtected: false) { _ in .answer(5) })
        await load(group)
        one.script = { _ in .silence }
        _ = harness.takeChecked()
        await load(group) { one.own = $0 % 3 == 0 ? .answer(5) : .fail(.broken("closed")) }
        #expect(group.dropsQueries(now: harness.world.now))
        #expect(!group.health.health(of: one).isDown)
        #expect(harness.checked.count < 50)
    }

    @Test
    @ServiceLoop
    func `connections that end after replies do not show that an upstream drops queries`()
        async
    {
        let one = upstream { $0 % 3 == 0 ? .fail(.broken("closed")) : .answer(5) }
        let group = harness.group(one)
        await load(group)
        #expect(!group.dropsQueries(now: harness.world.now))
    }

    @Test
    @ServiceLoop
    func `unanswered names of clients do not show that an upstream drops queries`() async {
        let scripts: [(Int) -> ScriptedUpstream.Step] = [
            { _ in .silence },
            { $0 % 3 == 2 ? .answer(2_000) : .silence },
            { $0 % 2 == 0 ? .answer(600) : .answer(5) },
        ]
        for script in scripts {
            let group = harness.group(upstream { script($0) })
            await load(group)
            #expect(!group.dropsQueries(now: harness.world.now))
        }
    }

    @Test
    @ServiceLoop
    func `a group drops no queries if no sample is answered, or another server answers`() async {
        let group = harness.group(upstream(own: .silence) { _ in .answer(5) })
        await load(group)
        #expect(!group.dropsQueries(now: harness.world.now))

        let one = upstream("dropping") { _ in .silence }
        let pair = harness.group(one, upstream("other") { _ in .answer(5) })
        await load(pair) { one.own = $0 % 2 == 0 ? .silence : .answer(5) }
        #expect(!pair.dropsQueries(now: harness.world.now))
    }

    @Test(arguments: [
        ScriptedUpstream.Step.answer(5), .fail(.declined(.refused)), .fail(.declined(.servFail)),
    ])
    @ServiceLoop
    func `a server with a limit of 5 equal replies a second is not overloaded`(
        _ own: ScriptedUpstream.Step
    ) async {
        let one = upstream(own: own) { _ in .answer(5) }
        one.equalReplies = 5
        let group = harness.group(one)
        for _ in 0..<3 {
            await load(group)
            #expect(!group.dropsQueries(now: harness.world.now))
        }
    }

    @Test
    @ServiceLoop
    func `only clients with many queries cause samples, at most 20 a second`() async {
        let group = harness.group(upstream(isProtected: false) { _ in .answer(5) })
        await load(group, .normal)
        #expect(harness.takeChecked().isEmpty)
        for _ in 0..<5 { await load(group) }
        // The next sample can start at the end of a step of the simulated time, so the number of
        // samples is not exact.
        #expect((200...252).contains(harness.checked.count))
        let refusing = upstream("refusing", own: .fail(.unreachable("refused"))) { _ in .answer(5) }
        _ = harness.takeChecked()
        await load(harness.group(refusing))
        #expect(harness.checked.filter { $0.hasPrefix("refusing") }.count <= 7)
    }
}
