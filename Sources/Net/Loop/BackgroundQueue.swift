// SPDX-License-Identifier: Apache-2.0
internal import Locks

/// Bounded queue with a thread for a handler that may block; drops and counts excess items.
package final class BackgroundQueue<Item: Sendable>: Sendable {
    /// Called on the queue's thread with the items and the number of dropped items.
    package typealias Handler = @Sendable (_ items: [Item], _ dropped: UInt64) -> Void

    private struct State {
        var items: [Item] = []
        var octets = 0
        var dropped: UInt64 = 0

        var taken = 0
    }

    private let state = Lock(State())

    private let added: Gate
    private let itemLimit: Int
    private let octetLimit: Int

    /// Creates a queue and a thread, which inherits the caller's capabilities and never ends.
    ///
    /// `name` has at most 15 octets.
    package init(
        named name: String,
        itemLimit: Int,
        octetLimit: Int = .max,
        _ handler: @escaping Handler
    ) throws(SocketError) {
        added = try Gate()
        self.itemLimit = itemLimit
        self.octetLimit = octetLimit
        _ = try WorkerThread(named: name) { [self] in
            while true {
                let (items, dropped) = take()
                guard !items.isEmpty || dropped > 0 else {
                    added.close(after: nil)
                    continue
                }
                handler(items, dropped)
                state.withLock { $0.taken = 0 }
            }
        }
    }

    /// Adds an item from any thread; returns false if the item was dropped.
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
        if wasEmpty { added.open() }
        return isAdded
    }

    /// Blocks until all items are handled or `time` has passed.
    package func flush(within time: Duration) {
        let end = Clock.now + time
        while state.withLock({ !$0.items.isEmpty || $0.taken > 0 }), Clock.now < end {
            WorkerThread.pause(milliseconds: 1)
        }
    }

    // MARK: - The thread

    private func take() -> (items: [Item], dropped: UInt64) {
        state.withLock { state in
            defer { state = State(taken: state.items.count) }
            return (state.items, state.dropped)
        }
    }
}
