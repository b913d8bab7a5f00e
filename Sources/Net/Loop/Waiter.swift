// SPDX-License-Identifier: Apache-2.0

// SAFETY: see `continuation`.
@safe
@ServiceLoop
package final class Waiter {
    package enum Outcome: Sendable {
        case ready
        case timedOut
        case cancelled
        case closed
    }

    package private(set) var outcome: Outcome?

    // SAFETY: only `wait` sets it, once; `resume` resumes and clears it.
    private var continuation: UnsafeContinuation<Void, Never>?

    package init() {}

    /// Ends the wait, even before ``wait(until:)`` is called; only the first call has an effect.
    package func resume(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        unsafe continuation?.resume()
        unsafe continuation = nil
    }

    /// Suspends until the first outcome or `deadline`; call it once.
    package func wait(until deadline: Instant?, _ clocks: Clocks = .system) async -> Outcome {
        let timer = deadline.map { clocks.timer($0) { self.resume(.timedOut) } }
        await withTaskCancellationHandler {
            guard outcome == nil else { return }
            await unsafe withUnsafeContinuation { unsafe continuation = $0 }
        } onCancel: {
            ServiceLoop.post { self.resume(.cancelled) }
        }
        timer?.cancel()
        guard let outcome else { preconditionFailure("a waiter was resumed without an outcome") }
        return outcome
    }
}
