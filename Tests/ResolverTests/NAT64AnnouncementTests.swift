// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Resolver

@Suite("NAT64 prefixes in router advertisements")
@ServiceLoop
struct NAT64AnnouncementTests {
    let world = Simulation()
    let nat64: NAT64

    init() {
        nat64 = NAT64(.discover, clocks: world.clocks, probe: StackProbe(routes: { .v6 }))
        nat64.networkChanged()
    }

    private func prefix(_ text: String) throws -> NAT64Prefix {
        try #require(IPPrefix(text).flatMap { NAT64Prefix($0) })
    }

    @Test
    func `an announced prefix is used until the end of its lifetime`() async throws {
        let prefix = try prefix("2001:db8:64::/96")
        nat64.announce(prefix, on: "router on eth0", lifetime: .seconds(600))
        #expect(nat64.prefix == prefix)
        #expect(nat64.finding?.server == "router on eth0")
        await world.advance(by: .seconds(300))
        nat64.announce(prefix, on: "router on eth0", lifetime: .seconds(600))
        await world.advance(by: .seconds(599))
        #expect(nat64.prefix == prefix)
        await world.advance(by: .seconds(2))
        #expect(nat64.prefix == nil)
    }

    @Test
    func `a router withdraws its own prefix only`() async throws {
        let (first, second) = (try prefix("2001:db8:64::/96"), try prefix("2001:db8:65::/96"))
        nat64.announce(first, on: "router on eth0", lifetime: .seconds(600))
        await world.advance(by: .seconds(20))
        nat64.announce(second, on: "router on eth0", lifetime: .zero)
        nat64.announce(first, on: "router on eth1", lifetime: .zero)
        #expect(nat64.prefix == first)
        nat64.announce(first, on: "router on eth0", lifetime: .zero)
        #expect(nat64.prefix == nil)
    }

    @Test
    func `a prefix that changes again and again is adopted every 10 s`() async throws {
        let prefixes = [try prefix("2001:db8:64::/96"), try prefix("2001:db8:65::/96")]
        var changes = 0
        nat64.onChange = { _ in changes += 1 }
        for number in 0..<100 {
            nat64.announce(prefixes[number % 2], on: "router on eth0", lifetime: .seconds(600))
            await world.advance(by: .seconds(1))
        }
        #expect((9...11).contains(changes), "\(changes)")
    }

    @Test
    func `after a network change, only a new announcement is used`() async throws {
        let prefix = try prefix("2001:db8:64::/96")
        nat64.announce(prefix, on: "router on eth0", lifetime: .seconds(600))
        nat64.networkChanged()
        #expect(nat64.prefix == prefix)
        await world.advance(by: .seconds(10))
        nat64.networkChanged()
        await world.advance(by: .seconds(1))
        #expect(nat64.prefix == nil)
    }

    @Test
    func `the prefix in the settings has priority over announced prefixes`() throws {
        nat64.use(.off)
        nat64.announce(try prefix("2001:db8:64::/96"), on: "router", lifetime: .seconds(600))
        #expect(nat64.prefix == nil)
    }
}
