// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
package import Net
package import Resolver
package import Synchronization

/// A datagram that a worker could not answer.
package struct Miss: Sendable {
    package let datagram: ReceivedDatagram
    package let listener: DatagramListener
    package let clientContext: ClientContext
    package let arrival: Instant
}

/// Queue of misses and refreshes from the workers to the service loop.
package final class MissQueue: Sendable {
    private let waiting = Lock(Waiting())
    private let wakeup: LoopWakeup

    /// Called on the service loop for each refresh and each miss.
    private let (refresh, handler): (@ServiceLoop (Query) -> Void, @ServiceLoop (Miss) -> Void)

    private struct Waiting {
        var misses: [Miss] = []

        var octets = 0

        var refreshes: [Query] = []
    }

    /// Maximum number of queued misses, of queued refreshes, and of misses in `taken`.
    private static let limit = 8_192

    /// Maximum octets of queued datagrams; `taken` may hold the same number again.
    package static let octets = 2 << 20

    /// Misses handled in one turn of the service loop, before sockets, timers and control calls.
    private static let row = 256

    @ServiceLoop private var taken: ArraySlice<Miss> = []

    /// Misses dropped because the queue was full.
    package let dropped = Atomic<UInt64>(0)

    @ServiceLoop
    package init(
        refresh: @escaping @ServiceLoop (Query) -> Void,
        _ handler: @escaping @ServiceLoop (Miss) -> Void
    ) throws(SocketError) {
        let box = WeakQueue()
        (self.refresh, self.handler) = (refresh, handler)
        wakeup = try LoopWakeup { box.queue?.handleRow() }
        box.queue = self
    }

    /// Handles all queued misses and refreshes immediately.
    @ServiceLoop
    package func handleAll() {
        repeat { take() } while handle(Self.limit)
    }

    @ServiceLoop
    private func handleRow() {
        if taken.isEmpty { take() }
        if handle(Self.row) { wakeup.ring() }
    }

    @ServiceLoop
    private func take() {
        let new = waiting.withLock { waiting in
            let new = waiting
            waiting = Waiting()
            return new
        }
        taken += new.misses
        for query in new.refreshes { refresh(query) }
    }

    /// Handles at most `count` misses; returns true if more are queued.
    @ServiceLoop
    private func handle(_ count: Int) -> Bool {
        for _ in 0..<min(count, taken.count) { handler(taken.removeFirst()) }
        return !taken.isEmpty || waiting.withLock { !$0.misses.isEmpty }
    }

    /// Queues misses; thread-safe, does not block.
    package func take(_ misses: [Miss]) {
        let lost = waiting.withLock { waiting in
            var taken = 0
            for miss in misses {
                let octets = waiting.octets + miss.datagram.octets.count
                guard waiting.misses.count < Self.limit, octets <= Self.octets else { break }
                waiting.misses.append(miss)
                waiting.octets = octets
                taken += 1
            }
            return misses.count - taken
        }
        if lost > 0 { dropped.add(UInt64(lost), ordering: .relaxed) }
        wakeup.ring()
    }

    /// Queues a refresh, or drops it if the queue is full; thread-safe, does not block.
    func take(refresh query: Query) {
        waiting.withLock { waiting in
            guard waiting.refreshes.count < Self.limit else { return }
            waiting.refreshes.append(query)
        }
        wakeup.ring()
    }
}

@ServiceLoop
private final class WeakQueue {
    weak var queue: MissQueue?
}
