// SPDX-License-Identifier: Apache-2.0

/// Cancellation of work whose result is no longer needed.
///
/// The owner cancels. The stages register actions that free their resources.
@ServiceLoop
package final class CancellationSignal {
    package private(set) var isCancelled = false

    private var isOver = false

    private typealias Action = @ServiceLoop () -> Void

    /// Most work has one or two actions.
    private var first: Action?
    private var second: Action?
    private var others: [Action] = []

    /// Client to which per-client limits charge the work; nil for the daemon's own work.
    package let client: (any Hashable & Sendable)?

    package init(client: (any Hashable & Sendable)? = nil) {
        self.client = client
    }

    /// Registers an action for cancellation; runs it immediately if the work is cancelled already.
    ///
    /// The signal retains the action until the work ends, so the action may retain the work.
    package func whenCancelled(_ action: @escaping @ServiceLoop () -> Void) {
        guard !isCancelled else { return action() }
        guard !isOver else { return }
        if first == nil {
            first = action
        } else if second == nil {
            second = action
        } else {
            others.append(action)
        }
    }

    /// Releases all actions, because the work has ended.
    package func finish() {
        isOver = true
        (first, second, others) = (nil, nil, [])
    }

    /// Cancels the work; is idempotent.
    package func cancel() {
        guard !isCancelled, !isOver else { return }
        isCancelled = true
        for action in takeActions() { action() }
    }

    private func takeActions() -> [Action] {
        defer { (first, second, others) = (nil, nil, []) }
        guard let first else { return [] }
        return [first] + (second.map { [$0] } ?? []) + others
    }
}
