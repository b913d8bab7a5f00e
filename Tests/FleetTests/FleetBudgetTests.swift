// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Fleet

@Suite("Shared budgets and the connection to Redis")
@ServiceLoop
struct FleetBudgetTests {
    private let world = Simulation()
    private let redis: ScriptedRedis
    private let fleet: Fleet

    init() throws {
        #expect(RedisCodec.load() == nil)
        redis = ScriptedRedis(world)
        fleet = Fleet(
            redis.access(try #require(SocketAddress("192.0.2.1:6379"))),
            testSeal(),
            machine: MachineName("m1"),
            identifier: [1],
            wait: .milliseconds(20),
            timeout: .milliseconds(120),
            clocks: world.clocks
        )
    }

    private func run(for time: Duration) async {
        await world.drive(until: world.now + time) { false }
    }

    private func connect() async {
        let account = FleetBudget.Account(
            identity: "account",
            limits: [1_000, nil, nil],
            costs: [1, 1, 1]
        ) { nil }
        fleet.budget.use(["v": account]) { _ in nil }
        redis.claims = [64, 100]
        fleet.start()
        await run(for: .seconds(1))
        #expect(fleet.state.isConnected)
        _ = allowed(0)
        await run(for: .milliseconds(10))
        #expect(allowed(0) == 64)
    }

    private func allowed(_ used: UInt64, day: Int64 = 1) -> UInt64? {
        fleet.budget.claim("v", day: day, month: 1, use: [used, 0, 0])?.allowed[0]
    }

    @Test
    func `a late reply of a lost Redis server does not end the use of the machine's share`()
        async throws
    {
        await connect()

        (redis.isSilent, redis.claims) = (true, [128, 200])
        _ = allowed(63)
        for name in ["a.example.com", "b.example.com", "c.example.com"] {
            let question = Fleet.Question(
                try Name(name),
                .v4,
                view: "",
                patience: .milliseconds(20)
            )
            fleet.ask(question, Completion { _ in })
        }
        await run(for: .milliseconds(300))
        #expect(!fleet.state.isConnected)
        #expect(allowed(63) == 64 + 900 / 2)

        redis.isDown = true
        redis.isSilent = false
        redis.close()
        await run(for: .milliseconds(50))
        #expect(allowed(63) == 128 + 800 / 2)
        fleet.stop()
    }

    @Test
    func `on a new day, a late reply for the old day does not delay the claim`() async {
        await connect()
        redis.isSilent = true
        _ = allowed(63)
        #expect(allowed(0, day: 2) == 1_000 / 8)
        redis.isSilent = false
        await run(for: .milliseconds(10))
        let before = redis.evaluations
        #expect(allowed(1, day: 2) == 1_000 / 8)
        await run(for: .milliseconds(10))
        #expect(redis.evaluations == before + 1)
        #expect(allowed(1, day: 2) == 64)
        fleet.stop()
    }
}
