// SPDX-License-Identifier: Apache-2.0

/// Cancellation of work; each stage of the work registers an action that frees resources.
@ServiceLoop
package final class CancellationSignal {
    package private(set) var isCancelled = false

    private var isOver = false

    private typealias Action = @ServiceLoop () -> Void

    private var first: Action?
    private var second: Action?
    private var others: [Action] = []

    /// DNS client whose limits apply to this work; nil for work of the daemon.
    package let client: (any Hashable & Sendable)?

    /// True if the DNS client waits for the result; false for a refresh of a cached answer.
    package let isAwaited: Bool

    package init(client: (any Hashable & Sendable)? = nil, isAwaited: Bool = true) {
        self.client = client
        self.isAwaited = isAwaited
    }

    /// Registers an action for cancellation; runs it immediately if the work is cancelled.
    ///
    /// The action may retain the work: `finish` releases all actions.
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
