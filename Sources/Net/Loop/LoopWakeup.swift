// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Synchronization

/// Lets any thread call a handler on the service loop.
///
/// The handler runs at least once after each `ring` and sees all writes made before it. Several
/// rings may share one call. The loop clears `rung` before it calls the handler, so a ring during
/// the handler causes another call.
@ServiceLoop
package final class LoopWakeup {
    /// True if a call of the handler is pending.
    private nonisolated let rung = Atomic(false)

    /// Eventfd; never read, because the watch is edge-triggered.
    private nonisolated let counter: Int32

    private let descriptor: OwnedDescriptor
    private var watch: DescriptorWatch?

    /// Creates a wake-up that calls `handler` until released.
    ///
    /// - Throws: `SocketError.system` if no descriptor is left.
    package init(_ handler: @escaping @ServiceLoop () -> Void) throws(SocketError) {
        descriptor = try OwnedDescriptor(linux_eventfd(), from: "eventfd")
        counter = descriptor.raw
        watch = nil
        watch = try DescriptorWatch(counter, [.readable, .edges]) { [weak self] _ in
            guard let self else { return }
            _ = rung.exchange(false, ordering: .acquiringAndReleasing)
            handler()
        }
    }

    isolated deinit { watch?.cancel() }

    /// Schedules a call of the handler: an atomic exchange, and a system call if none is pending.
    package nonisolated func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Fails only if the counter is full after 2^64 - 2 writes.
        _ = linux_eventfd_signal(counter)
    }
}
