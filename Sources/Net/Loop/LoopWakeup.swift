// SPDX-License-Identifier: Apache-2.0
private import Synchronization

/// Calls a handler on the service loop at the request of any thread.
///
/// The handler runs after each `ring` and sees all writes before it; several rings may share one
/// run.
// SAFETY: see `handler`.
@safe
package final class LoopWakeup: Sendable {
    private let rung = Atomic(false)

    // SAFETY: isolated to the loop; only `call` calls it.  Converted once, because each conversion
    // allocates.
    private nonisolated(unsafe) let handler: () -> Void

    @ServiceLoop
    package init(_ handler: @escaping @ServiceLoop () -> Void) {
        unsafe self.handler = unsafeBitCast(handler, to: (() -> Void).self)
    }

    /// Schedules a call: an atomic exchange, and a system call if the loop sleeps.
    package func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        LoopExecutor.shared.enqueue(self)
    }

    /// Calls the handler; only the thread of the loop may call this function.
    func call() {
        LoopExecutor.shared.checkIsolated()
        _ = rung.exchange(false, ordering: .acquiringAndReleasing)
        unsafe handler()
    }
}
