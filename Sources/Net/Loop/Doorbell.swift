// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Synchronization

/// Lets any thread call a handler on the loop; rings before the handler runs count once.
///
/// The handler is called at least once after every ring, and sees what the ringing thread did
/// before it rang: both ends exchange `rung`, and an exchange is never reordered with what is
/// around it.  The handler's side clears `rung` first and then looks for work, so a ring that comes
/// while it looks rings again.
@ServiceLoop
package final class Doorbell {
    /// Whether a call of the handler is under way that has not begun.
    private nonisolated let rung = Atomic(false)

    /// The event counter; read never, as the watch is edge-triggered.
    private nonisolated let counter: Int32

    /// Owns `counter`.
    private let descriptor: OwnedDescriptor
    private var watch: DescriptorWatch?

    /// Makes a bell that calls `handler` until it is released.
    ///
    /// - Throws: `SocketError.system`: no descriptor left.
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

    /// Has the handler called soon: one atomic exchange, and a system call only if not yet rung.
    package nonisolated func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Fails only if the counter is full after 2^64 - 2 writes.
        _ = linux_eventfd_signal(counter)
    }
}
