// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
internal import Net
internal import Resolver
internal import Synchronization

/// A datagram that the cache had no answer to.
struct Miss: Sendable {
    let datagram: ReceivedDatagram
    let listener: DatagramListener
    let asker: Asker
    let arrival: ContinuousClock.Instant
}

/// Where workers leave for the service loop what they cannot do: find answers out.
final class MissDesk: Sendable {
    private let waiting = Lock(Waiting())
    private let doorbell: Doorbell

    /// What is done with each.
    private let (refresh, handler): (@ServiceLoop (Query) -> Void, @ServiceLoop (Miss) -> Void)

    /// What lies on the desk.
    private struct Waiting {
        var misses: [Miss] = []

        /// Questions that were answered, but whose answers are to be asked for anew.
        var refreshes: [Query] = []
    }

    /// Misses that may lie here unread; the kernel's buffer would not hold more either.
    private static let limit = 16_384

    /// Misses that came when the desk was full, and so were dropped as a full socket drops them.
    let dropped = Atomic<UInt64>(0)

    /// A desk whose misses are given to `handler`, one by one, on the loop, and what is to be asked
    /// for anew to `refresh`.
    @ServiceLoop
    init(
        refresh: @escaping @ServiceLoop (Query) -> Void,
        _ handler: @escaping @ServiceLoop (Miss) -> Void
    ) throws(SocketError) {
        let box = DeskBox()
        (self.refresh, self.handler) = (refresh, handler)
        doorbell = try Doorbell { box.desk?.handleAll() }
        box.desk = self
    }

    /// Sees to everything that lies here, without waiting for the bell.
    @ServiceLoop
    func handleAll() {
        let taken = waiting.withLock { waiting in
            let taken = waiting
            waiting = Waiting()
            return taken
        }
        for miss in taken.misses { handler(miss) }
        for query in taken.refreshes { refresh(query) }
    }

    /// Leaves misses; from any thread, without waiting.
    func take(_ misses: [Miss]) {
        let lost = waiting.withLock { waiting in
            let room = max(0, Self.limit - waiting.misses.count)
            waiting.misses += misses.prefix(room)
            return misses.count - min(room, misses.count)
        }
        if lost > 0 { dropped.add(UInt64(lost), ordering: .relaxed) }
        doorbell.ring()
    }

    /// Leaves a question whose answer is to be asked for anew; from any thread, without waiting.
    ///
    /// One too many is forgotten: its answer grows old as it would have without.
    func take(refresh query: Query) {
        waiting.withLock { waiting in
            guard waiting.refreshes.count < Self.limit else { return }
            waiting.refreshes.append(query)
        }
        doorbell.ring()
    }
}

/// Lets the doorbell's handler know the desk, which needs the doorbell to exist.
@ServiceLoop
private final class DeskBox {
    weak var desk: MissDesk?
}
