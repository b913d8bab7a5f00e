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

        /// Octets of the datagrams in `misses`.
        var octets = 0

        /// Questions that were answered, but whose answers are to be asked for anew.
        var refreshes: [Query] = []
    }

    /// Misses and refreshes that may wait here; the kernel's buffer would not hold more either.
    ///
    /// As many again may have been taken and not yet handled.
    private static let limit = 8_192

    /// Octets of datagrams that may wait here; with those taken, what the kernel's buffer holds.
    static let octets = 2 << 20

    /// Misses handled in one turn of the loop: then sockets, timers and control have theirs.
    private static let row = 256

    /// Misses that were taken and not yet handled.
    @ServiceLoop private var taken: ArraySlice<Miss> = []

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
        doorbell = try Doorbell { box.desk?.handleRow() }
        box.desk = self
    }

    /// Handles all misses and refreshes, without waiting for the bell.
    @ServiceLoop
    func handleAll() {
        repeat { take() } while handle(Self.limit)
    }

    /// Handles some misses, and rings for the rest.
    @ServiceLoop
    private func handleRow() {
        if taken.isEmpty { take() }
        if handle(Self.row) { doorbell.ring() }
    }

    /// Takes what workers have left, and refreshes what is to be refreshed.
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

    /// Handles at most `count` of the misses that were taken; returns whether more are there.
    @ServiceLoop
    private func handle(_ count: Int) -> Bool {
        for _ in 0..<min(count, taken.count) { handler(taken.removeFirst()) }
        return !taken.isEmpty || waiting.withLock { !$0.misses.isEmpty }
    }

    /// Leaves misses; from any thread, without waiting.
    func take(_ misses: [Miss]) {
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
