// SPDX-License-Identifier: Apache-2.0

/// Signal that the result of a piece of work is not wanted any more.
///
/// The owner of the work cancels; the stages that carry it out register how to free what it takes up.
@ServiceLoop
package final class CancellationSignal {
    /// Whether the work was cancelled.
    package private(set) var isCancelled = false

    private var actions: [@ServiceLoop () -> Void] = []

    /// The client that the work counts against, for bounds that each client has a share of; nil for
    /// the daemon itself.
    package let client: AnyHashable?

    /// Makes the signal of work that is wanted.
    package init(client: AnyHashable? = nil) {
        self.client = client
    }

    /// Registers an action that runs when the work is cancelled; it runs now if that has happened.
    ///
    /// Actions are kept until the signal is released, so they must not keep the work alive.
    package func whenCancelled(_ action: @escaping @ServiceLoop () -> Void) {
        guard !isCancelled else { return action() }
        actions.append(action)
    }

    /// Cancels the work; is idempotent.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        let actions = actions
        self.actions = []
        for action in actions { action() }
    }
}
