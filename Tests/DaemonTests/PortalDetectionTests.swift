// SPDX-License-Identifier: Apache-2.0
import HTTPDNS
import Net
import TestWorld
import Testing
import Upstream

@testable import Daemon

@Suite("Detection of a captive portal")
struct PortalDetectionTests {
    @ServiceLoop
    private final class World {
        let clock = TestClock()
        var answers: UInt64 = 7
        var changes: [Bool] = []
        lazy var portal = PortalDetection(clock.clocks, answers: { self.answers }) {
            self.changes.append($0)
        }
    }

    @Test
    @ServiceLoop
    func `a redirection and 5 s without any answer indicate a portal, until an answer arrives`() {
        let world = World()
        world.portal.failed(.serverStatus(302))
        #expect(!world.portal.isKnown)
        world.clock.advance(by: 5)
        #expect(world.portal.isKnown)
        world.clock.advance(by: 60)
        world.answers += 1
        world.clock.advance(by: 5)
        #expect(!world.portal.isKnown)
        #expect(world.changes == [true, false])
    }

    @Test
    @ServiceLoop
    func `while other servers answer, the failures of one server indicate no portal`() {
        let world = World()
        for _ in 0..<10 {
            world.portal.failed(UpstreamError.untrusted("self-signed certificate"))
            world.answers += 1
            world.clock.advance(by: 6)
        }
        #expect(world.changes == [])
    }

    @Test
    @ServiceLoop
    func `without trusted certificates, an invalid certificate indicates no portal`() {
        let world = World()
        world.portal.canVerify = false
        world.portal.failed(UpstreamError.untrusted("unable to get local issuer certificate"))
        world.portal.failed(VendorError.transport(.tls("unable to get local issuer certificate")))
        world.clock.advance(by: 60)
        #expect(world.changes == [])
        world.portal.canVerify = true
        world.portal.failed(UpstreamError.untrusted("self-signed certificate"))
        world.clock.advance(by: 5)
        #expect(world.changes == [true])
    }

    @Test
    @ServiceLoop
    func `timeouts indicate a portal only if the router has announced a portal`() {
        let world = World()
        world.portal.failed(UpstreamError.timedOut)
        world.portal.failed(VendorError.transport(.timedOut(reused: false)))
        world.clock.advance(by: 60)
        #expect(!world.portal.isKnown)
        world.portal.announce(true, on: "wlan0")
        world.portal.failed(UpstreamError.timedOut)
        world.clock.advance(by: 5)
        #expect(world.portal.isKnown)
    }

    @Test
    @ServiceLoop
    func `a router can announce that no portal exists`() {
        let world = World()
        world.portal.announce(true, on: "wlan0")
        world.portal.announce(false, on: "wlan0")
        world.portal.failed(UpstreamError.timedOut)
        world.clock.advance(by: 5)
        #expect(!world.portal.isKnown)
    }

    @Test
    @ServiceLoop
    func `a network change ends a known portal, unless NetworkManager has reported the portal`() {
        let world = World()
        world.portal.failed(VendorError.transport(.tls("self-signed certificate")))
        world.clock.advance(by: 5)
        world.portal.networkChanged()
        #expect(world.changes == [true, false])
        world.portal.report(true)
        world.portal.networkChanged()
        #expect(world.portal.isKnown, "NetworkManager reports the end itself")
    }
}
