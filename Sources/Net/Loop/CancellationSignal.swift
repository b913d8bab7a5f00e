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

    private var actions: [@ServiceLoop () -> Void] = []

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
        if !isOver { actions.append(action) }
    }

    /// Releases all actions: the work has ended and is not cancelled any more.
    package func finish() {
        isOver = true
        actions = []
    }

    /// Cancels the work; is idempotent.
    package func cancel() {
        guard !isCancelled, !isOver else { return }
        isCancelled = true
        let actions = actions
        self.actions = []
        for action in actions { action() }
    }
}
