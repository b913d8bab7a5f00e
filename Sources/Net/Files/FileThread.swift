// SPDX-License-Identifier: Apache-2.0
private import Locks
private import Synchronization

/// Thread for short accesses to files by code that must not block.
///
/// A file system can stop responding, for example while it is frozen for a backup, or after the
/// loss of a network disk.
package final class FileThread: Sendable {
    package static let shared = FileThread()

    /// Maximum time that a caller waits; longer than the wait for a lock (``SharedFile``).
    private static let patience = Duration.milliseconds(50)

    /// Queue of the thread, which never ends; nil if no descriptor or thread was available.
    ///
    /// If nil, each access runs on the caller's thread.
    private let queue: BackgroundQueue<@Sendable () -> Void>?
    private let done = try? Gate()
    private let isBusy = Atomic(false)

    package init() {
        queue = try? BackgroundQueue(named: "files", itemLimit: 2) { accesses, _ in
            for access in accesses { access() }
        }
        // Ignores an error, because the daemon reports the same error when it drops the
        // capabilities of its other threads.
        queue?.add { try? OwnProcess.dropCapabilities() }
    }

    /// Runs `body` on the thread, and waits for its result.
    ///
    /// If `body` takes longer than ``patience``, returns nil, and `body` continues. Until `body`
    /// ends, further calls return nil immediately.
    @ServiceLoop
    func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
        guard let queue, let done else { return body() }
        guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
        let result = Lock<Value?>(nil)
        queue.add { [self] in
            let value = body()
            // Clears the flag before it sets the result: as soon as the caller sees the result, the
            // caller may start another access.
            isBusy.store(false, ordering: .releasing)
            result.withLock { $0 = value }
            done.open()
        }
        let end = Clock.now + Self.patience
        while true {
            if let value = result.withLock({ $0 }) { return value }
            let left = end - Clock.now
            guard left > .zero else { return nil }
            // An earlier access that took too long may end now, and open the gate. Then `close`
            // returns before `result` is set, and the loop waits again.
            done.close(after: left)
        }
    }
}
