// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Locks
// Modules that import this one use instants.
@_exported public import Monotonic

/// Answer cache for the workers and the service loop.
package final class AnswerCache: Sendable {
    private let table: Lock<AnswerTable>

    private let hash: NameHash

    /// Reference of all ages.
    package let origin: Instant

    /// In octets.
    package static let sizes: (smallest: Int, standard: Int) = (256 << 10, 64 << 20)

    /// Maximum entries examined under one lock: about 20 µs.
    static let stride = 256

    /// Creates a cache of `limit` octets for entries and index, at least 256 KiB.
    ///
    /// - Parameters:
    ///   - origin: Not later than the first `now`.
    ///   - seed: Secret of the hash, so that clients cannot choose colliding names.
    package init(
        limit: Int,
        origin: Instant,
        seed: UInt64,
        rotates: Bool = false
    ) {
        self.origin = origin
        let table = AnswerTable(
            limit: max(limit, Self.sizes.smallest),
            seed: seed,
            rotates: rotates
        )
        hash = table.hash
        self.table = Lock(table)
    }

    /// Enables or disables the rotation of addresses.
    package func setRotation(_ rotates: Bool) {
        let changed = table.withLock { table in
            defer { table.rotates = rotates }
            return table.rotates != rotates
        }
        guard changed, rotates else { return }
        withMirrorSuspended {
            walk { table, reference in
                table.ring[reference].answerCount > 1 ? .withdraw : .keep
            }
        }
    }

    // MARK: - Answering

    /// Returns the hash of the question in `octets`.
    package func hash(_ facts: QueryFacts, in octets: RawSpan) -> UInt64 {
        hash(QueryView(facts, in: octets).name, type: facts.type.rawValue)
    }

    /// Takes the lock for a group of queries; `now` is in milliseconds since `origin`.
    package func withTable<Result>(
        now: Instant,
        _ body: (inout AnswerTable, _ now: UInt64) -> Result
    ) -> Result {
        let now = milliseconds(now)
        return table.withLock { body(&$0, now) }
    }

    /// Stores an answer, unless its lifetime is 0 or it exceeds half of the cache.
    package func insert(_ answer: CachedAnswer, now: Instant) {
        guard answer.lifetime > 0 else { return }
        let now = milliseconds(now)
        _ = table.withLock { $0.insert(answer, now: now) }
    }

    /// Returns the newest good answer, fresh or stale, for a failed resolution; counts as demand.
    ///
    /// - Parameter ttl: Seconds, for stale records; RFC 8767 §4 recommends 30.
    package func staleAnswer(
        for question: Question,
        variant: AnswerVariant,
        ttl: UInt32,
        now: Instant
    ) -> StaleAnswer? {
        let now = milliseconds(now)
        return table.withLock {
            $0.staleAnswer(for: question, variant: variant, ttl: ttl, now: now)
        }
    }

    /// Returns the fresh good answer; does not count as demand.
    package func freshAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: Instant
    ) -> FreshAnswer? {
        let now = milliseconds(now)
        return table.withLock { $0.freshAnswer(for: question, variant: variant, now: now) }
    }

    // MARK: - Numbers

    /// Counts and sizes.
    package var numbers: CacheNumbers { table.withLock { $0.numbers } }

    /// Copied: the next hit would otherwise copy a shared array under the lock.
    package var hitsByServer: [UInt64] { table.withLock { $0.hitsByServer.map(\.self) } }

    // MARK: - Removing

    /// Selection of entries.
    package enum Selection: Sendable, Equatable {
        case all
        case name(Name, RecordType?)

        /// The name and its subdomains.
        case tree(Name)

        case negative

        /// Expired or marked stale.
        case stale

        case source(AnswerSource)

        /// By server number.
        case servers(Set<UInt16>)
    }

    func giveBack() -> Bool { table.withLock { $0.giveBack() } }

    /// Moves addresses of a fresh answer to the front.
    package func reorder(
        _ question: Question,
        variant: AnswerVariant,
        _ addresses: [IPAddress],
        now: Instant
    ) {
        guard question.type.isAddress else { return }
        let now = milliseconds(now)
        table.withLock { $0.reorder(question, variant: variant, addresses, now: now) }
    }

    // MARK: - Snapshots

    /// End of a lap of the ring buffer that starts now.
    var lapEnd: Int { table.withLock { $0.ring.head + $0.ring.capacity } }

    func snapshotStride(from position: Int, now: Instant) -> SnapshotStride {
        let now = milliseconds(now)
        return table.withLock { $0.snapshotStride(from: position, now: now) }
    }

    func hotStride(
        from position: Int,
        above least: UInt32,
        now: Instant
    ) -> (entries: [HotEntry], next: Int?) {
        let now = milliseconds(now)
        return table.withLock { $0.hotStride(from: position, above: least, now: now) }
    }

    func restore(
        _ entries: [SnapshotEntry],
        now: Instant
    ) -> (all: Int, stale: Int) {
        let now = milliseconds(now)
        return table.withLock { $0.restore(entries, now: now) }
    }

    // MARK: - Walking and counting

    /// Makes the changes of `body` take effect together.
    private func withMirrorSuspended(_ body: () -> Void) {
        let mirror = restingMirror()
        body()
        mirror?.resume()
    }

    /// The caller must resume the mirror.
    func restingMirror() -> (any AnswerMirror)? {
        let mirror = table.withLock { $0.mirror }
        mirror?.suspend()
        return mirror
    }

    func withTable<Result>(_ body: (inout AnswerTable) -> Result) -> Result {
        table.withLock(body)
    }

    /// Releases the lock between groups of entries.
    func walk(_ classify: (borrowing AnswerTable, Int) -> AnswerTable.Verdict) {
        var position: Int? = 0
        while let next = position {
            position = table.withLock { $0.walk(from: next, count: Self.stride, classify) }
        }
    }

    /// Milliseconds since `origin`.
    func milliseconds(_ instant: Instant) -> UInt64 {
        let passed = instant.nanoseconds.subtractingReportingOverflow(origin.nanoseconds)
        guard !passed.overflow, passed.partialValue > 0 else { return 0 }
        return UInt64(passed.partialValue) / 1_000_000
    }
}
