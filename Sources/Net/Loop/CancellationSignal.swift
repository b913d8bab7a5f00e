// SPDX-License-Identifier: Apache-2.0

/// Cancellation of one piece of work when its result is no longer needed.
///
/// The owner of the work cancels. The stages that do the work register actions that free its
/// resources.
@ServiceLoop
package final class CancellationSignal {
    /// True if the work was cancelled.
    package private(set) var isCancelled = false

    private var isOver = false

    private typealias Action = @ServiceLoop () -> Void

    /// The first action, and the others: most work has one or two.
    private var first: Action?
    private var second: Action?
    private var others: [Action] = []

    /// Client to which per-client limits charge the work; nil for work of the daemon itself.
    package let client: (any Hashable & Sendable)?

    /// Creates a signal that is not cancelled.
    package init(client: (any Hashable & Sendable)? = nil) {
        self.client = client
    }

    /// Registers an action that runs on cancellation, or immediately if the work is cancelled
    /// already.
    ///
    /// The signal retains the action until the end of the work. So an action may retain the work.
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

    /// Releases all actions: the work has ended and is not cancelled any more.
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
