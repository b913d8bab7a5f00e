// SPDX-License-Identifier: Apache-2.0
private import Synchronization

/// Handler on the service loop, which any thread can schedule by ``ring()``.
///
/// The handler sees all writes before the `ring`. Several calls of `ring` may cause one run.
// SAFETY: see `handler`.
@safe
package final class LoopWakeup: Sendable {
    private let rung = Atomic(false)

    // SAFETY: isolated to the loop; only `call` calls the handler. The isolation is removed once,
    // because each conversion of the closure allocates memory.
    private nonisolated(unsafe) let handler: () -> Void

    @ServiceLoop
    package init(_ handler: @escaping @ServiceLoop () -> Void) {
        unsafe self.handler = unsafeBitCast(handler, to: (() -> Void).self)
    }

    package func ring() {
        guard !rung.exchange(true, ordering: .acquiringAndReleasing) else { return }
        LoopExecutor.shared.enqueue(self)
    }

    func call() {
        LoopExecutor.shared.checkIsolated()
        _ = rung.exchange(false, ordering: .acquiringAndReleasing)
        unsafe handler()
    }
}
