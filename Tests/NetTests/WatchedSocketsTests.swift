// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Net

@Suite("Sockets that libcurl waits for", .timeLimit(.minutes(15)))
struct WatchedSocketsTests {
    init() { ServiceLoop.start() }

    /// Watched sockets of which the next event is waited for.
    @ServiceLoop
    private final class Scene {
        let sockets = WatchedSockets()
        private let waiter = Waiter()
        private(set) var heard: [Int32] = []

        init() {
            sockets.handler = { [weak self] descriptor, _ in
                self?.heard.append(descriptor)
                // As libcurl does when it has seen enough.
                self?.sockets.forget(descriptor)
                self?.waiter.resume(.ready)
            }
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
    func `one that gets the number of another, closed without a word, is watched in its place`()
        async throws
    {
        let listener = try ListeningSocket()
        let scene = Scene()
        // Other tests open and close sockets, too: this needs the same number twice in a row.
        var descriptor: Int32
        repeat {
            let old = try scene.open()
            try scene.sockets.watch(old, .writable)
            close(old)
            descriptor = try scene.open()
            if descriptor != old {
                scene.sockets.forget(old)
                _ = scene.sockets.close(descriptor)
            }
        } while scene.sockets.all[descriptor] == nil
        let connected = listener.address.withSockaddr { connect(descriptor, $0, $1) }
        try #require(connected == 0)
        await scene.event()
        #expect(scene.heard == [descriptor])
        #expect(scene.sockets.all.isEmpty)
        _ = scene.sockets.close(descriptor)
    }

    @ServiceLoop
    @Test
    func `one that was closed without a word, and lives on elsewhere, is let go as any other`()
        async throws
    {
        let scene = Scene()
        let other = Scene()
        let descriptor = try scene.open()
        // As a process has it that was started just then.
        let elsewhere = dup(descriptor)
        defer { close(elsewhere) }
        try scene.sockets.watch(descriptor, .writable)
        close(descriptor)
        scene.sockets.forget(descriptor)
        // A socket that is not connected is writable: were it still watched, sd-event would be told
        // of a source that is no more, and end the process.
        let witness = try other.open()
        try other.sockets.watch(witness, .writable)
        await other.event()
        #expect(scene.heard == [])
        _ = other.sockets.close(witness)
    }
}
