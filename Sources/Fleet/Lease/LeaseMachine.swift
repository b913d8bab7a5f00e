// SPDX-License-Identifier: Apache-2.0

/// Steps of one machine to the shared answer of one key: a pure state machine.
///
/// The machine reads the value, then claims the lease. The leader calls the vendor, stores the
/// answer and releases the lease. The others wait for its message, at most until the end of their
/// wait, and then call the vendor themselves. The end of the wait applies to all steps before the
/// call, so that a slow engine delays no client further.
struct LeaseMachine: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        case reading

        case claiming

        /// Another machine leads.
        case waiting

        /// This machine calls the vendor, with the lease or without it.
        case calling(isLeader: Bool)

        case done
    }

    enum Event: Hashable, Sendable {
        /// Reply to the read.
        case read(hasValue: Bool)

        /// Reply to the claim, which reads the value again: it may have come since.
        case claimed(isWon: Bool, hasValue: Bool)

        /// The engine failed, or did not answer in time.
        case engineFailed

        /// A message brought a value.
        case received

        case waitEnded

        /// The call of this machine ended.
        case callEnded(hasValue: Bool)
    }

    enum Action: Hashable, Sendable {
        case read
        case claim

        /// Use the value that was read or received.
        case use

        case call

        /// Store the value and send it to the other machines.
        case publish

        /// Remove the lease if this machine holds it.
        case release
    }

    private(set) var phase = Phase.reading

    /// True if the engine may have given the lease to this machine.
    private(set) var mayHold = false

    /// First action of a machine.
    static let first = Action.read

    /// Takes an event; returns the actions in their order.
    mutating func take(_ event: Event) -> [Action] {
        switch (phase, event) {
        case (.done, _): return lateActions(event)
        case (.reading, .read(hasValue: true)): return end(with: .use)
        case (.reading, .read(hasValue: false)):
            phase = .claiming
            mayHold = true
            return [.claim]
        case (.claiming, .claimed(let isWon, hasValue: true)):
            mayHold = isWon
            return end(with: .use)
        case (.claiming, .claimed(isWon: true, hasValue: false)):
            phase = .calling(isLeader: true)
            return [.call]
        case (.claiming, .claimed(isWon: false, hasValue: false)):
            mayHold = false
            phase = .waiting
            return []
        case (.reading, .received), (.claiming, .received), (.waiting, .received):
            return end(with: .use)
        case (.reading, .engineFailed), (.claiming, .engineFailed), (.waiting, .engineFailed),
            (.reading, .waitEnded), (.claiming, .waitEnded), (.waiting, .waitEnded):
            phase = .calling(isLeader: false)
            return [.call]
        case (.calling, .claimed(let isWon, _)):
            // The reply came after the end of the wait.
            mayHold = isWon
            return []
        case (.calling, .callEnded(let hasValue)):
            return end(with: hasValue ? .publish : nil)
        // A reply to an earlier step, or an event without a meaning for the call.
        case (.calling, _), (.reading, _), (.claiming, _), (.waiting, _): return []
        }
    }

    /// Ends with an action, and releases the lease if this machine may hold it.
    private mutating func end(with action: Action?) -> [Action] {
        phase = .done
        defer { mayHold = false }
        return [action].compactMap(\.self) + (mayHold ? [.release] : [])
    }

    /// A claim that succeeds after the end must not block the other machines.
    private func lateActions(_ event: Event) -> [Action] {
        if case .claimed(isWon: true, _) = event { [.release] } else { [] }
    }
}
