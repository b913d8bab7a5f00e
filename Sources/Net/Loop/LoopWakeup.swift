// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Synchronization

/// Calls a handler on the service loop at the request of any thread.
///
/// The handler runs after each `ring` and sees all writes before it; several rings may share one
/// run. The loop clears `rung` first, so a ring during the handler causes another run.
@ServiceLoop
package final class LoopWakeup {
    private nonisolated let rung = Atomic(false)

    /// Descriptor of the eventfd, which is edge-triggered and therefore never read.
    private nonisolated let counter: Int32

    private let descriptor: OwnedDescriptor
    private var watch: DescriptorWatch?

    /// Calls `handler` until released; throws if no descriptor is left.
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

    /// Schedules a run: an atomic exchange, and a system call if no run is scheduled.
    package nonisolated func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Fails only after 2^64 - 2 writes.
        _ = linux_eventfd_signal(counter)
    }
}
