// SPDX-License-Identifier: Apache-2.0
internal import Locks
internal import Synchronization

/// Access policy of the listeners; a reload replaces the policy.
///
/// Before each batch, a worker compares the version number of its copy with the current number.
package final class AccessPolicy: Sendable {
    package struct Snapshot: Sendable {
        var access: AccessList

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
            // Reads the number before the policy: if the policy changes in between, the number is
            // outdated, and `update` copies the policy again.
            number = rules.number.load(ordering: .acquiring)
            snapshot = rules.snapshot
        }

        mutating func update(from rules: AccessPolicy) {
            guard rules.number.load(ordering: .acquiring) != number else { return }
            self = Copy(of: rules)
        }
    }
}
