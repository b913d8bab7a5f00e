// SPDX-License-Identifier: Apache-2.0
internal import Locks
internal import Synchronization

/// Access policy of the listeners; a reload replaces the policy.
///
/// Each worker has a copy of the policy. Before each batch of queries, the worker compares the
/// version number of its copy with the current number (an atomic). If the numbers differ, the
/// worker copies the policy again, under a lock. So a new policy applies to every query sent after
/// the reload.
package final class AccessPolicy: Sendable {
    package struct Snapshot: Sendable {
        var access: AccessList

        /// Maximum queries per second of a client network (``RateLimit``); nil for no limit.
        var queriesPerSecond: Int?

        package init(access: AccessList, queriesPerSecond: Int? = nil) {
            self.access = access
            self.queriesPerSecond = queriesPerSecond
        }
    }

    private let number = Atomic<UInt64>(1)
    private let latest: Lock<Snapshot>

    package init(_ snapshot: Snapshot) { latest = Lock(snapshot) }

    package var snapshot: Snapshot { latest.withLock { $0 } }

    package func issue(_ snapshot: Snapshot) {
        latest.withLock { $0 = snapshot }
        number.add(1, ordering: .releasing)
    }

    struct Copy {
        private(set) var snapshot: Snapshot
        private var number: UInt64

        init(of rules: AccessPolicy) {
            // Reads the version number first. If the policy changes before `snapshot` is read, this
            // number is too old, so that the next `update` copies the policy again.
            number = rules.number.load(ordering: .acquiring)
            snapshot = rules.snapshot
        }

        mutating func update(from rules: AccessPolicy) {
            guard rules.number.load(ordering: .acquiring) != number else { return }
            self = Copy(of: rules)
        }
    }
}
