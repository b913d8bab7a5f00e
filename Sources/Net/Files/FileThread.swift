// SPDX-License-Identifier: Apache-2.0
private import Locks
private import Synchronization

/// Thread for short accesses to files by code that must not block.
package final class FileThread: Sendable {
    package static let shared = FileThread()

    /// Longer than the wait for a lock (``SharedFile``).
    private static let patience = Duration.milliseconds(50)

    /// Nil if no descriptor or thread was available; accesses then run on the caller's thread.
    private let queue: BackgroundQueue<@Sendable () -> Void>?
    private let done = try? Gate()
    private let isBusy = Atomic(false)

    package init() {
        queue = try? BackgroundQueue(named: "files", itemLimit: 2) { accesses, _ in
            for access in accesses { access() }
        }
        // Ignores an error, because the daemon reports the same error for its other threads.
        queue?.add { try? OwnProcess.dropCapabilities() }
    }

    /// Runs `body` on the thread; returns nil if `body` takes longer than ``patience``.
    ///
    /// Then `body` continues. Until `body` ends, further calls return nil immediately.
    @ServiceLoop
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
        guard let queue, let done else { return body() }
        guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        let result = Lock<Value?>(nil)
        queue.add { [self] in
            let value = body()
            // Clears `isBusy` first: a caller that sees the result can start another access.
            isBusy.store(false, ordering: .releasing)
            result.withLock { $0 = value }
            done.open()
        }
        let end = Clock.now + Self.patience
        while true {
            if let value = result.withLock({ $0 }) { return value }
            let left = end - Clock.now
            guard left > .zero else { return nil }
            // The end of an earlier access can also open the gate. Then this call waits again.
            done.close(after: left)
        }
    }
}
