// SPDX-License-Identifier: Apache-2.0

/// One task that waits, once, for the first of: an event, a deadline, its own cancellation.
///
/// Everything in this room that suspends does so here, so there is one place where continuations
/// are kept and resumed exactly once; rooms above may do the same.
// SAFETY: the one unsafe thing stored is the continuation, see there.
@safe
@ServiceLoop
package final class Waiter {
    /// What came first.
    package enum Outcome: Sendable {
        case ready
        case timedOut
        case cancelled
        /// What was waited for went away.
        case closed
    }

    /// The first outcome; never changes once it is set.
    package private(set) var outcome: Outcome?

    /// The task, while it is suspended.
    // SAFETY: set once, by the one call of `wait`, and resumed once, as it is forgotten then.
    private var continuation: UnsafeContinuation<Void, Never>?

    package init() {}

    /// Ends the wait; only the first call counts, and it may come before the wait begins.
    package func resume(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        // SAFETY: see there.
        unsafe continuation?.resume()
        unsafe continuation = nil
    }

    /// Suspends until the first outcome, at most until `deadline`; to be called once.
    package func wait(until deadline: ContinuousClock.Instant?) async -> Outcome {
        let timer = deadline.map { LoopTimer(at: $0) { self.resume(.timedOut) } }
        await withTaskCancellationHandler {
            guard outcome == nil else { return }
            // SAFETY: see there.
            await unsafe withUnsafeContinuation { unsafe continuation = $0 }
        } onCancel: {
            ServiceLoop.post { self.resume(.cancelled) }
        }
        timer?.cancel()
        guard let outcome else { preconditionFailure("a waiter was resumed without an outcome") }
        return outcome
    }
}
