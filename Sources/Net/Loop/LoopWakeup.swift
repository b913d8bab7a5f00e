// SPDX-License-Identifier: Apache-2.0
private import Synchronization

/// Calls a handler on the service loop at the request of any thread.
///
/// The handler runs after each `ring` and sees all writes before it; several rings may share one
/// run.
@ServiceLoop
package final class LoopWakeup {
    private nonisolated let rung = Atomic(false)
    private let handler: @ServiceLoop () -> Void

    package init(_ handler: @escaping @ServiceLoop () -> Void) { self.handler = handler }

    /// Schedules a call: an atomic exchange, and a system call if the loop sleeps.
    package nonisolated func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        LoopExecutor.shared.enqueue(self)
    }

    func call() {
        _ = rung.exchange(false, ordering: .acquiringAndReleasing)
        handler()
    }
}
