// SPDX-License-Identifier: Apache-2.0

/// State machine of one lookup of a shared answer, without clock and network.
///
/// `Fleet.md` describes the protocol. The time limit of the wait includes the time of the read and
/// the claim, so that a slow Redis server does not prolong a lookup.
struct LeaseMachine: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        case reading
        case claiming
        case waiting

        case calling(isLeader: Bool)

        case done
    }

    enum Event: Hashable, Sendable {
        case read(hasValue: Bool)

        /// Redis replied to the claim of the lease and the second read, which are sent together.
        case claimed(isWon: Bool, hasValue: Bool)

        case engineFailed

        case received

        case waitEnded
        case callEnded(hasValue: Bool)
    }

    enum Action: Hashable, Sendable {
        case read
        case claim
        case use
        case call

        case publish

        case release
    }

    private(set) var phase = Phase.reading

    /// True if Redis may have given the lease to this host.
    private(set) var mayHold = false

    static let first = Action.read

    /// Returns the actions in the order in which to perform them.
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
            mayHold = isWon
            return []
        case (.calling, .callEnded(let hasValue)):
            return end(with: hasValue ? .publish : nil)
        case (.calling, _), (.reading, _), (.claiming, _), (.waiting, _): return []
        }
    }

    private mutating func end(with action: Action?) -> [Action] {
        phase = .done
        defer { mayHold = false }
        return [action].compactMap(\.self) + (mayHold ? [.release] : [])
    }

    /// Releases a lease that is granted too late, so that the lease does not block other hosts.
    private func lateActions(_ event: Event) -> [Action] {
        if case .claimed(isWon: true, _) = event { [.release] } else { [] }
    }
}
