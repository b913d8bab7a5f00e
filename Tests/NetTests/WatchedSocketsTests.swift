// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Net

@Suite("Sockets that libcurl watches", .timeLimit(.minutes(15)))
struct WatchedSocketsTests {
    @ServiceLoop
    private final class Fixture {
        let sockets = WatchedSockets()
        private let waiter = Waiter()
        private(set) var heard: [Int32] = []

        init() {
            sockets.handler = { [weak self] descriptor, _ in
                self?.heard.append(descriptor)
                self?.sockets.forget(descriptor)
                self?.waiter.resume(.ready)
            }
        }

        func times(_ count: Int, of descriptor: Int32) async throws -> [Instant] {
            var times: [Instant] = []
            sockets.handler = { [weak self] _, _ in
                times.append(Clock.now)
                if times.count == count { self?.waiter.resume(.ready) }
            }
            try sockets.watch(descriptor, [.readable, .writable])
            await event()
            sockets.forget(descriptor)
            return times
        }

        func open() throws -> Int32 {
            let descriptor = sockets.open(
                family: AF_INET,
                type: Int32(SOCK_STREAM.rawValue),
                protocol: 0
            )
            try #require(descriptor >= 0)
            return descriptor
        }

        func event() async { _ = await waiter.wait(until: nil) }
    }

    @ServiceLoop
    @Test
    func `a descriptor that libcurl closed without a report is watched again when reused`()
        async throws
    {
        let listener = try ListeningSocket()
        let fixture = Fixture()
        // Repeats until the new socket gets the descriptor of the closed socket, because other
        // tests also open sockets.
        var descriptor: Int32
        repeat {
            let old = try fixture.open()
            try fixture.sockets.watch(old, .writable)
            close(old)
            descriptor = try fixture.open()
            if descriptor != old {
                fixture.sockets.forget(old)
                _ = fixture.sockets.close(descriptor)
            }
        } while fixture.sockets.all[descriptor] == nil
        let connected = listener.address.withSockaddr { connect(descriptor, $0, $1) }
        try #require(connected == 0)
        await fixture.event()
        #expect(fixture.heard == [descriptor])
        #expect(fixture.sockets.all.isEmpty)
        _ = fixture.sockets.close(descriptor)
    }

    @ServiceLoop
    @Test
    func `a socket that was closed without a report is removed, even if a duplicate is open`()
        async throws
    {
        let fixture = Fixture()
        let other = Fixture()
        let descriptor = try fixture.open()
        let elsewhere = dup(descriptor)
        defer { close(elsewhere) }
        try fixture.sockets.watch(descriptor, .writable)
        close(descriptor)
        fixture.sockets.forget(descriptor)
        // If the loop still watched the duplicate, epoll would report an event of the ended watch.
        let witness = try other.open()
        try other.sockets.watch(witness, .writable)
        await other.event()
        #expect(fixture.heard == [])
        _ = other.sockets.close(witness)
    }

    @ServiceLoop
    @Test
    func `the peer of a TCP connection sends no large segments`() async throws {
        let listener = try ListeningSocket()
        let fixture = Fixture()
        let descriptor = try fixture.open()
        let connected = listener.address.withSockaddr { connect(descriptor, $0, $1) }
        try #require(connected == 0)
        let accepted = accept(listener.descriptor, nil, nil)
        try #require(accepted >= 0)
        #expect(maximumSegment(of: accepted) <= StreamConnection.maximumSegment)
        close(accepted)
        _ = fixture.sockets.close(descriptor)

        let connection = try await StreamConnection.connect(
            to: listener.address,
            deadline: patience
        )
        let other = accept(listener.descriptor, nil, nil)
        try #require(other >= 0)
        #expect(maximumSegment(of: other) <= StreamConnection.maximumSegment)
        close(other)
        connection.close()
    }

    private func maximumSegment(of descriptor: Int32) -> Int32 {
        var segment = Int32.max
        var size = socklen_t(MemoryLayout.size(ofValue: segment))
        _ = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, &size)
        return segment
    }

    @ServiceLoop
    @Test
    func `a socket that is always writable, but not used, is reported only every 10 ms`()
        async throws
    {
        let listener = try ListeningSocket()
        let fixture = Fixture()
        let descriptor = try fixture.open()
        let connected = listener.address.withSockaddr { connect(descriptor, $0, $1) }
        try #require(connected == 0)
        let times = try await fixture.times(12, of: descriptor)
        // The pause of 10 ms begins when the iteration of the loop begins. The handler records the
        // time later, so two recorded times can be less than 10 ms apart.
        for (time, next) in zip(times, times.dropFirst()).dropFirst(8) {
            #expect(next - time >= .milliseconds(5))
        }
        _ = fixture.sockets.close(descriptor)
    }

    /// libcurl 7.88 crashes after a failure of its socket callback.
    @ServiceLoop
    @Test
    func `libcurl gets no error for a socket that cannot be watched`() throws {
        // epoll(7) cannot watch a device without poll support.
        let device = open("/dev/null", O_RDONLY)
        try #require(device >= 0)
        defer { close(device) }
        let sockets = WatchedSockets()
        let wanted = Unmanaged.passUnretained(sockets.wanted).toOpaque()
        #expect(WantedEvents.socketChanged(nil, device, 1, wanted, nil) == 0)
        #expect(throws: SocketError.self) { try sockets.applyChanges() }
    }

    @ServiceLoop
    @Test
    func `the reason why a socket could not be opened is stored`() {
        let sockets = WatchedSockets()
        #expect(sockets.open(family: -1, type: Int32(SOCK_STREAM.rawValue), protocol: 0) == -1)
        #expect(sockets.failure == EAFNOSUPPORT)
    }
}
