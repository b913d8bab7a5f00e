// SPDX-License-Identifier: Apache-2.0
internal import Locks
internal import Synchronization

/// Access policy of the listeners, which a reload replaces.
///
/// After each received batch, a worker compares one atomic version number.  It copies the policy
/// under a lock only if the number has changed.  Every query sent after a completed reload is
/// therefore treated by the new policy, and the hit path takes no lock.
final class HouseRules: Sendable {
    /// Snapshot of the access policy.
    struct Edition: Sendable {
        var access: AccessList

        /// Queries per second that are answered for each client network except loopback; nil: no
        /// limit.
        var queriesPerSecond: Int?
    }

    private let number = Atomic<UInt64>(1)
    private let latest: Lock<Edition>

    init(_ edition: Edition) { latest = Lock(edition) }

    var edition: Edition { latest.withLock { $0 } }

    func issue(_ edition: Edition) {
        latest.withLock { $0 = edition }
        number.add(1, ordering: .releasing)
    }

    /// Copy of the current snapshot for one thread.
    struct Copy {
        private(set) var edition: Edition
        private var number: UInt64

        init(of rules: HouseRules) {
            // The number is read first: if the policy changes between the two reads, `update`
            // copies the policy again.
            number = rules.number.load(ordering: .acquiring)
            edition = rules.edition
        }

        /// Copies the current snapshot if its version has changed.
        mutating func update(from rules: HouseRules) {
            guard rules.number.load(ordering: .acquiring) != number else { return }
            self = Copy(of: rules)
        }
    }
}
