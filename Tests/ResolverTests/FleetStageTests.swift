// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Fleet
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Resolver

@Suite("Vendor calls with a fleet")
struct FleetStageTests {
    @Test("a query that is evicted while it waits for the Redis server causes no vendor call")
    @ServiceLoop
    func eviction() async throws {
        #expect(RedisCodec.load() == nil)
        let harness = try ResolverHarness(.json)
        let redis = ScriptedRedis(harness.world)
        let fleet = Fleet(
            redis.access(try #require(SocketAddress("192.0.2.1:6379"))),
            FleetSeal { text in Array(text.suffix(32)) },
            machine: MachineName("m1"),
            identifier: [1],
            wait: .seconds(2),
            timeout: .seconds(2),
            clocks: harness.world.clocks
        )
        let views = ["json": "view"]
        harness.resolver.use(
            FleetExchange(fleet, views: views, group: "g", policy: TTLPolicy(), staleTTL: 30)
        )
        fleet.start()
        await harness.world.advance(by: .milliseconds(100))
        #expect(fleet.state.isConnected)

        for isEvicted in [false, true] {
            redis.isSilent = true
            let name = try Name(isEvicted ? "four.example.com" : "www.example.com")
            harness.begin(name, of: 1)
            await harness.world.advance(by: .milliseconds(1_200))
            for number in 0..<(isEvicted ? ResolverLimits.inFlight.perClient : 0) {
                harness.begin(try Name("n\(number).example.net"), .txt, of: 1)
            }
            redis.isSilent = false
            await harness.world.advance(by: .milliseconds(500))
            #expect(harness.vendors[0].statistics.tries == 1)
        }
        fleet.stop()
    }
}
