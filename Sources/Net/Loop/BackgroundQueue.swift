// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Locks

/// A bounded queue of items that a thread of its own handles in order, and may block with.
///
/// Adding an item never waits: an item that does not fit is dropped and counted.  So a reader that
/// stops reading, of a log or of notifications, cannot stop the thread that has something to write.
package final class BackgroundQueue<Item: Sendable>: Sendable {
    /// Handles items, and the number of items that were dropped after them.
    package typealias Handler = @Sendable (_ items: [Item], _ dropped: UInt64) -> Void

    private struct State {
        var items: [Item] = []
        var octets = 0
        var dropped: UInt64 = 0

        /// Items that the thread has taken and not handled yet.
        var taken = 0
    }

    private let state = Lock(State())

    /// The event counter that wakes the thread.
    private let descriptor: OwnedDescriptor
    private let itemLimit: Int
    private let octetLimit: Int

    /// Makes a queue and starts its thread, which inherits the capabilities of the calling thread and
    /// lives as long as the process.
    ///
    /// - Parameters:
    ///   - name: the name of the thread, at most 15 octets.
    ///   - itemLimit: items that wait at most, at least 1; as many again may be with the handler.
    ///   - octetLimit: the sum of their sizes at most.
    /// - Throws: `SocketError.system`: no descriptor or thread left.
    package init(
        named name: String,
        itemLimit: Int,
        octetLimit: Int = .max,
        _ handler: @escaping Handler
    ) throws(SocketError) {
        descriptor = try OwnedDescriptor(linux_eventfd(), from: "eventfd")
        self.itemLimit = itemLimit
        self.octetLimit = octetLimit
        _ = try WorkerThread(named: name) { [self] in
            while true {
                let (items, dropped) = take()
                guard !items.isEmpty || dropped > 0 else {
                    wait()
                    continue
                }
                handler(items, dropped)
                state.withLock { $0.taken = 0 }
            }
        }
    }

    /// Adds an item of so many octets, from any thread.
    ///
    /// - Returns: false if it was dropped.
    @discardableResult
    package func add(_ item: Item, octets: Int = 0) -> Bool {
        let (isAdded, wasEmpty) = state.withLock { state in
            guard state.items.count < itemLimit, state.octets + octets <= octetLimit else {
                state.dropped += 1
                return (false, false)
            }
            state.items.append(item)
            state.octets += octets
            return (true, state.items.count == 1)
        }
        if wasEmpty { _ = linux_eventfd_signal(descriptor.raw) }
        return isAdded
    }

    /// Waits until everything is handled, but not longer than `time`: for a thread that has nothing
    /// else to do, at the end of the process.
    package func flush(within time: Duration) {
        let end = Clock.now + time
        while state.withLock({ !$0.items.isEmpty || $0.taken > 0 }), Clock.now < end {
            WorkerThread.pause(milliseconds: 1)
        }
    }

    // MARK: - The thread

    /// Takes all items out.
    private func take() -> (items: [Item], dropped: UInt64) {
        state.withLock { state in
            defer { state = State(taken: state.items.count) }
            return (state.items, state.dropped)
        }
    }

    /// Waits for the next item.
    private func wait() {
        var event = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        var count: UInt64 = 0
        // SAFETY: one pollfd and eight octets are written; the queue lives as long as its thread.
        unsafe poll(&event, 1, -1)
        _ = unsafe read(descriptor.raw, &count, MemoryLayout<UInt64>.size)
    }
}
