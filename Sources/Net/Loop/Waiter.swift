// SPDX-License-Identifier: Apache-2.0

/// Suspension of one task until an event, a deadline or cancellation.
///
/// All waits of this module use this type, which resumes each continuation exactly once.
// SAFETY: the only unsafe stored property is the continuation, explained at `continuation`.
@safe
@ServiceLoop
package final class Waiter {
    package enum Outcome: Sendable {
        case ready
        case timedOut
        case cancelled
        /// The awaited object was closed.
        case closed
    }

    /// Reason for which the wait ended; nil before, and constant once set.
    package private(set) var outcome: Outcome?

    // SAFETY: set once, by the only call of `wait`, and resumed once, because `resume` then clears
    // it.
    private var continuation: UnsafeContinuation<Void, Never>?

    package init() {}

    /// Ends the wait; only the first call has an effect, and may precede `wait`.
    package func resume(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        // SAFETY: `outcome` was nil, so the continuation is resumed for the first time.
        unsafe continuation?.resume()
        unsafe continuation = nil
    }

    /// Suspends until the first outcome or `deadline`; call it once.
    package func wait(until deadline: Instant?) async -> Outcome {
        let timer = deadline.map { LoopTimer(at: $0) { self.resume(.timedOut) } }
        await withTaskCancellationHandler {
            guard outcome == nil else { return }
            // SAFETY: the continuation is stored, and `resume` resumes it once.
            await unsafe withUnsafeContinuation { unsafe continuation = $0 }
        } onCancel: {
            ServiceLoop.post { self.resume(.cancelled) }
        }
        timer?.cancel()
        guard let outcome else { preconditionFailure("a waiter was resumed without an outcome") }
        return outcome
    }
}
