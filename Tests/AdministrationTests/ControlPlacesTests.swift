// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Administration
@testable import Control
@testable import Net

@Suite("Limits of control connections")
struct ControlPlacesTests {
    private static let root: UInt32 = 0

    @Test
    func `one user gets half of the connections, and two connections are reserved for root`() {
        var places = ControlPlaces(total: 16)
        #expect((0..<20).filter { _ in places.connect(1000) }.count == 8)
        #expect((0..<20).filter { _ in places.connect(1001) }.count == 6)
        #expect(places.connect(1002) == false)
        #expect((0..<20).filter { _ in places.connect(Self.root) }.count == 2)
        places.disconnect(1000)
        #expect(places.connect(1002) == true)
        #expect(places.connect(Self.root) == false)
    }

    @Test
    func `root may use all connections, and half of them for streams`() {
        var places = ControlPlaces(total: 16)
        #expect((0..<20).filter { _ in places.connect(Self.root) }.count == 16)
        #expect((0..<20).filter { _ in places.beginStream(Self.root) }.count == 8)
        #expect(places.beginStream(1000) == false)
        places.endStream(Self.root)
        #expect(places.beginStream(Self.root) == true)
    }

    @Test
    func `two streams are reserved for root`() {
        var places = ControlPlaces(total: 16)
        #expect((0..<20).filter { _ in places.beginStream(1000) }.count == 4)
        #expect((0..<20).filter { _ in places.beginStream(1001) }.count == 2)
        #expect((0..<20).filter { _ in places.beginStream(Self.root) }.count == 2)
        places.endStream(1000)
        #expect(places.beginStream(1001) == true)
    }

    @Test
    func `connections of root do not reduce the limits of other users`() {
        var places = ControlPlaces(total: 16)
        #expect((0..<2).filter { _ in places.connect(Self.root) }.count == 2)
        #expect((0..<20).filter { _ in places.connect(1000) }.count == 8)
        #expect((0..<20).filter { _ in places.connect(1001) }.count == 6)
    }

    @Test(arguments: 1...3)
    func `with a limit of one to three connections, one client is still served`(_ total: Int) {
        var places = ControlPlaces(total: total)
        #expect(places.connect(1000) == true)
        #expect(places.beginStream(1000) == true)
    }

    @Test
    func `unsent replies are limited to twice the maximum size of a reply`() {
        var places = ControlPlaces(total: 16)
        let largest = ControlLimits.replyOctets
        #expect(places.beginReply(largest) == true)
        #expect(places.beginReply(largest) == true)
        #expect(places.beginReply(1) == false)
        places.endReply(largest)
        #expect(places.beginReply(1) == true)
    }

    @Test
    @ServiceLoop
    func `streaming clients leave connections for calls with one reply`() async throws {
        let live = try await LiveServer.start()
        let watch =
            #"{"method":"io.httpdnsd.Control.Stats","parameters":{"every-seconds":1},"more":true}"#
        var watching: [LiveClient] = []
        for _ in 0..<(getuid() == Self.root ? 8 : 4) {
            let client = try await live.client()
            let reply = try #require(try await client.ask(watch))
            #expect(reply.continues)
            watching.append(client)
        }
        for _ in 0..<16 {
            let other = try await live.client()
            let refused = try #require(try await other.ask(watch))
            #expect(refused.error?.hasSuffix(".Failed") == true)
            #expect(try await other.receive() == nil)
        }
        let version = #"{"method":"io.httpdnsd.Control.Version"}"#
        let other = try await live.client()
        #expect(try await other.ask(version)?.error == nil)
        let gone = Waiter()
        live.server.onDismissal = { gone.resume(.ready) }
        watching[0].connection.close()
        #expect(await gone.wait(until: nil) == .ready)
        let admitted = try #require(try await other.ask(watch))
        #expect(admitted.continues)
        await live.stop()
    }
}
