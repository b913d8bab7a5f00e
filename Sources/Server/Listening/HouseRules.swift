// SPDX-License-Identifier: Apache-2.0
internal import Locks
internal import Synchronization

/// What workers go by that may change while they work: whom they answer.
///
/// A worker compares one number after each batch it has received, and takes the rules themselves
/// only when that has changed.  So a query that is sent after a reload has been reported is treated
/// by the new rules, without a lock on the way of those before it.
final class HouseRules: Sendable {
    /// The rules of one moment.
    struct Edition: Sendable {
        /// Who may ask.
        var access: AccessList

        /// Queries that are answered a second of each network beyond this machine; nil for any.
        var queriesPerSecond: Int?
    }

    /// Which edition is in force, counted from 1.
    private let number = Atomic<UInt64>(1)
    private let latest: Lock<Edition>

    /// Rules that begin with `edition`.
    init(_ edition: Edition) { latest = Lock(edition) }

    /// The edition in force.
    var edition: Edition { latest.withLock { $0 } }

    /// Puts an edition in force.
    func issue(_ edition: Edition) {
        latest.withLock { $0 = edition }
        number.add(1, ordering: .releasing)
    }

    /// One thread's copy of the rules.
    struct Copy {
        private(set) var edition: Edition
        private var number: UInt64

        /// The rules as they are now.
        init(of rules: HouseRules) {
            // The number first: an edition that comes in between is then taken once more.
            number = rules.number.load(ordering: .acquiring)
            edition = rules.edition
        }

        /// Takes the edition in force, if that is another one.
        mutating func update(from rules: HouseRules) {
            guard rules.number.load(ordering: .acquiring) != number else { return }
            self = Copy(of: rules)
        }
    }
}
