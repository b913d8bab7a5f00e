// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Calls for expired names")
struct AbandonedCallTests {
    let world = Simulation()

    /// Calls that the vendor processes, even after the daemon has closed the connection.
    @ServiceLoop
    private final class Load {
        private var ends: [Instant] = []
        private(set) var most = 0

        func begin(until end: Instant, now: Instant) {
            ends.removeAll { $0 <= now }
            ends.append(end)
            most = max(most, ends.count)
        }
    }

    @ServiceLoop
    private func occupied(_ client: VendorClient) -> [Int] {
        [
            client.shares.count, client.lingering.count, client.calls.count, client.pending.count,
            client.queue.count, client.held.isEmpty ? 0 : 1,
        ]
    }

    @Test("a call counts against `concurrent-calls` until the vendor has answered")
    @ServiceLoop
    func limit() async throws {
        let load = Load()
        world.script = { [world] request in
            load.begin(until: world.now + .milliseconds(1_800), now: world.now)
            return .reply(good(request), after: .milliseconds(1_800))
        }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 4 }
        for number in 0..<100 {
            _ = try world.begin(
                client,
                "slow\(number).example.com",
                of: network(UInt32(number % 8)),
                within: .milliseconds(700)
            )
            await world.advance(by: .milliseconds(100))
        }
        #expect(load.most == 4)
        world.servers([:])
        await world.advance(by: .seconds(3))
        #expect(occupied(client) == [0, 0, 0, 0, 0, 0])
    }

    @Test("calls for the expired names of one client use at most half of `concurrent-calls`")
    @ServiceLoop
    func shares() async throws {
        world.script = { request in
            let isSlow = namesAsked(request).contains { $0.hasPrefix("slow") }
            return isSlow ? .silence() : .reply(good(request))
        }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 8 }
        for number in 0..<100 {
            let name = "slow\(number).example.com"
            _ = try world.begin(client, name, of: network(2), within: .milliseconds(600))
            let reply = try await world.lookUp(client, "n\(number).example.com", of: network(1))
            #expect(reply.duration <= .milliseconds(20))
            #expect(client.shares.count(of: network(2)) <= 4)
            await world.advance(by: .milliseconds(80))
        }
    }

    private enum Ending: CaseIterable {
        case answered, refused, notConnected, timedOut, timedOutTwice, answeredLate
        case hedged, networkChanged, networkChangedLate, resumed, invalid
    }

    @Test(
        "a call that has ended does not count against `concurrent-calls`",
        arguments: Ending.allCases
    )
    @ServiceLoop
    private func places(_ ending: Ending) async throws {
        let late = Simulation.Step.silence()
        switch ending {
        case .answered: world.servers([:])
        case .refused: world.script = { _ in .reply(HTTPReply(status: 503, body: [])) }
        case .notConnected: world.script = { _ in .fail(.connect("refused")) }
        case .invalid: world.script = { _ in .reply(ok("?")) }
        case .timedOut, .resumed: world.script = { _ in late }
        case .timedOutTwice: world.script = { _ in .silence(reused: true) }
        case .answeredLate: world.script = { .reply(good($0), after: .milliseconds(1_900)) }
        case .hedged: world.servers([1: late])
        case .networkChanged, .networkChangedLate: world.script = { _ in late }
        }
        let client = try world.client(servers: ending == .hedged ? 2 : 1) {
            $0.concurrentCalls = 4
        }
        for number in 0..<12 {
            let name = "n\(number).example.com"
            _ = try world.begin(client, name, of: network(3), within: .milliseconds(700))
        }
        await world.advance(by: .milliseconds(ending == .networkChanged ? 350 : 750))
        if ending == .networkChangedLate { #expect(client.lingering.count > 0) }
        if ending == .resumed { client.resume() }
        if ending == .networkChanged || ending == .networkChangedLate {
            client.networkChanged()
            world.reset()
        }
        await world.advance(by: .seconds(5))
        #expect(occupied(client) == [0, 0, 0, 0, 0, 0])
        world.servers([:])
        client.resume()
        _ = try await world.lookUp(client, of: network(3))
    }

    @Test("after a network change, the daemon calls the vendor for the queued names")
    @ServiceLoop
    func networkChange() async throws {
        world.script = { _ in .silence() }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 1 }
        _ = try world.begin(client, "slow.example.com", of: network(1), within: .milliseconds(600))
        await world.advance(by: .milliseconds(500))
        let queued = try world.begin(client, of: network(2))
        await world.advance(by: .milliseconds(200))
        world.servers([:])
        client.networkChanged()
        world.reset()
        let reply = try await world.value(of: queued).get()
        #expect(reply.duration < .milliseconds(250))
    }

    @Test("a silent vendor is detected even if calls for expired names use up `concurrent-calls`")
    @ServiceLoop
    func silence() async throws {
        world.servers([:])
        let client = try world.client(servers: 1) { $0.concurrentCalls = 2 }
        _ = try await world.lookUp(client)
        world.script = { _ in .silence() }
        for number in 0..<60 where !client.isSilent {
            _ = try world.begin(
                client,
                "n\(number).example.com",
                of: network(UInt32(number)),
                mayFallBack: true,
                within: .milliseconds(600)
            )
            await world.advance(by: .milliseconds(100))
        }
        // Three requests must time out before the breaker opens.
        #expect(client.isSilent)
    }

    @Test(
        "if lookups of one client expire, the lookups of another client do not fail",
        arguments: [503, 429]
    )
    @ServiceLoop
    func refusals(_ status: Int) async throws {
        var ends: [Instant] = []
        world.script = { [world] request in
            ends.removeAll { $0 <= world.now }
            guard ends.count < 8 else {
                return .reply(HTTPReply(status: status, body: []), after: .milliseconds(3))
            }
            let isSlow = namesAsked(request).contains { $0.hasPrefix("slow") }
            let time = Duration.milliseconds(isSlow ? 1_800 : 20)
            ends.append(world.now + time)
            return .reply(good(request), after: time)
        }
        let client = try world.client(servers: 1)
        for round in 0..<200 {
            let slow = "slow\(round).example.com"
            _ = try world.begin(client, slow, of: network(2), within: .milliseconds(1_000))
            let reply = try await world.lookUp(client, "n\(round).example.com", of: network(1))
            #expect(reply.duration <= .milliseconds(1_200))
            await world.advance(by: .milliseconds(80))
        }
        #expect(client.shares.limit >= 6)
    }
}
