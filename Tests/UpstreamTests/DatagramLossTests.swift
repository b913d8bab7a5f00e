// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Upstream

@Suite("Networks that lose datagrams", .timeLimit(.minutes(15)))
struct DatagramLossTests {
    private let harness = UpstreamHarness()

    /// Upstreams over UDP behind a network that loses each packet with the same probability.
    @ServiceLoop
    private final class Network {
        private var random = Seeded(seed: 7)
        private let share: Double
        init(losing share: Double) { self.share = share }

        private func passes() -> Bool { Double.random(in: 0..<1, using: &random) >= share }

        func datagram() -> ScriptedUpstream.Step { passes() && passes() ? .answer(10) : .silence }

        /// TCP with the kernel's retransmissions: a handshake, then a query and its reply.
        func stream() -> ScriptedUpstream.Step {
            for opened in [0, 1_000, 3_000] where passes() && passes() {
                var time = opened + 10
                for _ in 0..<2 {
                    var pause = 200
                    while !passes() { (time, pause) = (time + pause, pause * 2) }
                    time += 5
                }
                return .answer(time)
            }
            return .silence
        }

        func upstream(_ name: String, in harness: UpstreamHarness) -> ScriptedUpstream {
            let upstream = ScriptedUpstream(name, in: harness, repeatsAfter: .zero) { [self] _ in
                datagram()
            }
            upstream.overStream = { [self] in stream() }
            return upstream
        }
    }

    @Test(arguments: [
        (1, 0.1, 0.002), (1, 0.2, 0.01), (1, 0.3, 0.04), (1, 0.4, 0.1),
        (2, 0.1, 0.001), (2, 0.2, 0.002), (2, 0.3, 0.005), (2, 0.4, 0.015),
    ])
    @ServiceLoop
    func `few names fail in a network that loses datagrams`(
        _ servers: Int,
        _ share: Double,
        _ most: Double
    ) async throws {
        let network = Network(losing: share)
        let members = (0..<servers).map { network.upstream("\($0)", in: harness) }
        let group = UpstreamGroup(members, health: HealthTable(clocks: harness.world.clocks))
        let names = 500
        var failed = 0
        for _ in 0..<names {
            if case .failure = try await harness.ask(group) { failed += 1 }
            await harness.advance(by: .milliseconds(100))
        }
        #expect(Double(failed) <= most * Double(names))
    }

    @Test(arguments: [1, 2])
    @ServiceLoop
    func `without losses, a name that no server answers causes no additional datagrams`(
        _ servers: Int
    ) async throws {
        let members = (0..<servers).map {
            ScriptedUpstream("\($0)", in: harness, repeatsAfter: .zero, own: .answer(10)) {
                number in
                number < 20 ? .answer(10) : .silence
            }
        }
        let group = UpstreamGroup(members, health: HealthTable(clocks: harness.world.clocks))
        for _ in 0..<20 { _ = try await harness.ask(group) }
        if servers == 2 { members[1].script = { _ in .silence } }
        _ = harness.takeAsked()
        for _ in 0..<10 { #expect(try await harness.ask(group) == .failure(.timedOut)) }
        #expect(harness.asked.count == 10 * (servers == 1 ? 3 : 4))
    }

    /// When a resolver such as Unbound has resolved a name, it answers all queries for this name;
    /// the first reply is for the newest query.
    @Test(arguments: [false, true])
    @ServiceLoop
    func `a late reply is no loss, even if the server answers the repetition first`(
        isProbe: Bool
    ) async throws {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero, own: .answer(10)) {
            number in number < 20 ? .answer(10) : .silence
        }
        let group = harness.group(one)
        for _ in 0..<20 { _ = try await harness.ask(group) }
        let end = harness.world.now + .milliseconds(320)
        let slow: () -> ScriptedUpstream.Step = { [harness] in
            let isFirst = end - harness.world.now == .milliseconds(320)
            return .answer((end - harness.world.now).milliseconds + (isFirst ? 1 : 0))
        }
        if isProbe {
            one.ownScript = slow
            group.health.probe(one, until: harness.world.now + .seconds(2))
        } else {
            one.script = { _ in slow() }
            #expect(try await harness.ask(group) == .success("one"))
        }
        await harness.advance(by: .seconds(3))
        #expect((isProbe ? harness.checked : harness.asked.suffix(3)).count > 1)
        let isLossy = group.health.page(of: one).health.isLossy(at: harness.world.now)
        #expect(!isLossy)
    }

    @Test
    @ServiceLoop
    func `an attempt that ends with an error does not count as a lost datagram`() async throws {
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero, own: .answer(10)) {
            $0 == 0 ? .fail(.unreachable("no route"), 5) : .answer(10)
        }
        let group = harness.group(one)
        #expect(try await harness.ask(group) == .success("one"))
        await harness.advance(by: .seconds(3))
        let isLossy = group.health.page(of: one).health.isLossy(at: harness.world.now)
        #expect(!isLossy)
    }

    @Test(arguments: [false, true])
    @ServiceLoop
    func `a datagram that times out counts as lost if the server answered its repetition`(
        isProbe: Bool
    ) async throws {
        var number = 0
        let step: () -> ScriptedUpstream.Step = {
            number += 1
            return number == 1 ? .silence : .answer(10)
        }
        let one = ScriptedUpstream("one", in: harness, repeatsAfter: .zero, own: .answer(10)) { _ in
            isProbe ? .answer(10) : step()
        }
        let group = harness.group(one)
        if isProbe {
            one.ownScript = step
            group.health.probe(one, until: harness.world.now + .seconds(2))
        } else {
            #expect(try await harness.ask(group) == .success("one"))
        }
        await harness.advance(by: .seconds(3))
        let isLossy = group.health.page(of: one).health.isLossy(at: harness.world.now)
        #expect(isLossy)
    }

    @Test
    @ServiceLoop
    func `silent servers get no additional datagrams, even if the network lost datagrams before`()
        async throws
    {
        let network = Network(losing: 0.3)
        let members = ["one", "two"].map { network.upstream($0, in: harness) }
        let group = UpstreamGroup(members, health: HealthTable(clocks: harness.world.clocks))
        for _ in 0..<100 { _ = try await harness.ask(group) }
        for member in members {
            let isLossy = group.health.page(of: member).health.isLossy(at: harness.world.now)
            #expect(isLossy)
            member.script = { _ in .silence }
            member.overStream = { .silence }
        }
        _ = try await harness.ask(group)
        _ = harness.takeAsked()
        for _ in 0..<10 { _ = try await harness.ask(group) }
        #expect(harness.asked.count == 10 * 4)
    }

    @Test
    @ServiceLoop
    func `the query of a client with a high load gets no additional attempts`() async throws {
        let network = Network(losing: 0.3)
        let group = harness.group(network.upstream("one", in: harness))
        for _ in 0..<100 { _ = try await harness.ask(group) }
        _ = harness.takeAsked()
        for _ in 0..<100 {
            let operation = harness.world.begin {
                await withCheckedContinuation { continuation in
                    group.ask(
                        UpstreamHarness.query,
                        deadline: harness.world.now + .milliseconds(4_800),
                        load: .high,
                        Completion { _ in continuation.resume() }
                    )
                }
            }
            try await harness.world.value(of: operation)
            #expect(harness.takeAsked().split(separator: " ").count <= UpstreamLimits.roundsAlone)
        }
    }
}
