// SPDX-License-Identifier: Apache-2.0
internal import Net
internal import Synchronization

/// A datagram that the cache had no answer to.
struct Miss: Sendable {
    let datagram: ReceivedDatagram
    let listener: DatagramListener
    let asker: Asker
    let arrival: ContinuousClock.Instant
}

/// Where workers leave their misses for the service loop.
final class MissDesk: Sendable {
    private let waiting = Mutex<[Miss]>([])
    private let doorbell: Doorbell

    /// Misses that may lie here unread; the kernel's buffer would not hold more either.
    private static let limit = 16_384

    /// Misses that came when the desk was full, and so were dropped as a full socket drops them.
    let dropped = Atomic<UInt64>(0)

    /// A desk whose misses are given to `handler`, one by one, on the loop.
    @ServiceLoop
    init(_ handler: @escaping @ServiceLoop (Miss) -> Void) throws(SocketError) {
        let box = DeskBox()
        doorbell = try Doorbell {
            guard let desk = box.desk else { return }
            let misses = desk.waiting.withLock { waiting in
                let misses = waiting
                waiting = []
                return misses
            }
            for miss in misses { handler(miss) }
        }
        box.desk = self
    }

    /// Leaves misses; from any thread, without waiting.
    func take(_ misses: [Miss]) {
        let lost = waiting.withLock { waiting in
            let room = max(0, Self.limit - waiting.count)
            waiting += misses.prefix(room)
            return misses.count - min(room, misses.count)
        }
        if lost > 0 { dropped.add(UInt64(lost), ordering: .relaxed) }
        doorbell.ring()
    }
}

/// Lets the doorbell's handler know the desk, which needs the doorbell to exist.
@ServiceLoop
private final class DeskBox {
    weak var desk: MissDesk?
}
