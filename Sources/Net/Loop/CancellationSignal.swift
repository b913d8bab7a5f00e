// SPDX-License-Identifier: Apache-2.0

/// Cancellation of work; each stage of the work registers an action.
@ServiceLoop
open class CancellationSignal {
    package final var isCancelled: Bool { state == .cancelled }

    private enum State { case open, cancelled, finished }

    private final var state = State.open

    private typealias Action = @ServiceLoop () -> Void

    private final var first: Action?
    private final var second: Action?
    private final var others: [Action] = []
    private final var hasOthers = false

    /// DNS client that caused this work; nil for work of the daemon itself.
    package final let account: (any Hashable & Sendable)?

    /// False for a refresh of a cached answer.
    package final let isAwaited: Bool

    package init(client: (any Hashable & Sendable)? = nil, isAwaited: Bool = true) {
        account = client
        self.isAwaited = isAwaited
    }

    /// Registers an action, or runs the action now if the work is cancelled.
    ///
    /// The action can retain the work, because `finish` releases all actions.
    package final func whenCancelled(_ action: @escaping @ServiceLoop () -> Void) {
        guard state == .open else {
            if isCancelled { action() }
            return
        }
        if first == nil {
            first = action
        } else if second == nil {
            second = action
        } else {
            hasOthers = true
            others.append(action)
        }
    }

    package final func finish() {
        if state == .open { state = .finished }
        (first, second) = (nil, nil)
        if hasOthers { others = [] }
    }

    package final func cancel() {
        guard state == .open else { return }
        state = .cancelled
        for action in takeActions() { action() }
    }

    private func takeActions() -> [Action] {
        defer { (first, second, others) = (nil, nil, []) }
        guard let first else { return [] }
        return [first] + (second.map { [$0] } ?? []) + others
    }
}
