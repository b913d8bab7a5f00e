// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Locks
// Each module that uses instants imports this one.
@_exported public import Monotonic

/// Answer cache with a size limit in octets, shared by the workers and the service loop.
///
/// One lock protects the cache: see the page of the module.
package final class AnswerCache: Sendable {
    private let table: Lock<AnswerTable>

    /// The hash of the table; hashing needs no lock.
    private let hash: NameHash

    /// The reference instant of all ages.
    package let origin: Instant

    /// The minimum and the default size in octets.
    package static let sizes: (smallest: Int, standard: Int) = (256 << 10, 64 << 20)

    /// Maximum number of entries examined or removed under one lock: about 20 µs.
    static let stride = 256

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - limit: Maximum size of entries and index in octets, at least 256 KiB.
    ///   - origin: An instant not later than the first `now`.
    ///   - seed: The secret of the hash: a random number from the kernel.
    ///   - rotates: True to rotate the addresses of each answer.
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

    /// Returns the hash of the question in `facts`, which were parsed from `octets`.
    package func hash(_ facts: QueryFacts, in octets: RawSpan) -> UInt64 {
        hash(QueryView(facts, in: octets).name, type: facts.type.rawValue)
    }

    /// Takes the lock for a batch of queries, which `body` answers with `AnswerTable.answer`.
    ///
    /// - Parameter body: Receives the table, and `now` in milliseconds since `origin`.
    package func withTable<Result>(
        now: Instant,
        _ body: (inout AnswerTable, _ now: UInt64) -> Result
    ) -> Result {
        let now = milliseconds(now)
        return table.withLock { body(&$0, now) }
    }

    /// Stores an answer and replaces the entry of the same question and variant.
    ///
    /// An answer with lifetime 0 or larger than half the cache is not stored.
    package func insert(_ answer: CachedAnswer, now: Instant) {
        guard answer.lifetime > 0 else { return }
        let now = milliseconds(now)
        _ = table.withLock { $0.insert(answer, now: now) }
    }

    /// Returns the last good answer to a question, for use when resolving fails (RFC 8767).
    ///
    /// The call counts as demand for the entry.
    ///
    /// - Parameters:
    ///   - variant: The DO and CD bits of the client.
    ///   - ttl: TTL in seconds of the records of a stale answer; RFC 8767 §4 recommends 30.
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

    /// Returns a copy of the fresh good answer to a question.
    ///
    /// The call does not count as demand.
    package func freshAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: Instant
    ) -> FreshAnswer? {
        let now = milliseconds(now)
        return table.withLock { $0.freshAnswer(for: question, variant: variant, now: now) }
    }

    // MARK: - Numbers

    /// The current counts and sizes.
    package var numbers: CacheNumbers { table.withLock { $0.numbers } }

    /// Number of hits by `server` number of the entry.
    ///
    /// The map copies the array; a shared array would be copied by the next hit.
    package var hitsByServer: [UInt64] { table.withLock { $0.hitsByServer.map(\.self) } }

    // MARK: - Removing

    /// Selection of entries to remove or to mark stale.
    package enum Selection: Sendable, Equatable {
        case all
        case name(Name, RecordType?)

        /// A name and its subdomains.
        case tree(Name)

        /// Negative answers.
        case negative

        /// Entries that have expired or were marked stale.
        case stale

        /// Entries from a kind of source.
        case source(AnswerSource)

        /// Entries from these vendors or upstreams, by server number.
        case servers(Set<UInt16>)
    }

    /// Returns some memory of removed entries to the system; true if more remains.
    func giveBack() -> Bool { table.withLock { $0.giveBack() } }

    /// Moves these addresses of a fresh answer to the front, in their order.
    ///
    /// No address is added or removed. Age and demand of the entry stay unchanged.
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

    /// The ring position at which a complete pass over the ring ends that starts now.
    var lapEnd: Int { table.withLock { $0.ring.head + $0.ring.capacity } }

    /// Encodes some entries for a snapshot.
    func snapshotStride(from position: Int, now: Instant) -> SnapshotStride {
        let now = milliseconds(now)
        return table.withLock { $0.snapshotStride(from: position, now: now) }
    }

    /// Returns the entries of a stride with more than `least` hits.
    func hotStride(
        from position: Int,
        above least: UInt32,
        now: Instant
    ) -> (entries: [HotEntry], next: Int?) {
        let now = milliseconds(now)
        return table.withLock { $0.hotStride(from: position, above: least, now: now) }
    }

    /// Stores entries from a snapshot.
    ///
    /// Returns the number of stored entries and how many of these are stale.
    func restore(
        _ entries: [SnapshotEntry],
        now: Instant
    ) -> (all: Int, stale: Int) {
        let now = milliseconds(now)
        return table.withLock { $0.restore(entries, now: now) }
    }

    // MARK: - Walking and counting

    /// Calls `body` while the mirror is suspended, so that all changes of `body` take effect
    /// together.
    private func withMirrorSuspended(_ body: () -> Void) {
        let mirror = restingMirror()
        body()
        mirror?.resume()
    }

    /// Suspends the mirror and returns it; the caller must call `resume` on the mirror.
    func restingMirror() -> (any AnswerMirror)? {
        let mirror = table.withLock { $0.mirror }
        mirror?.suspend()
        return mirror
    }

    /// Takes the lock for an operation that does not depend on the time.
    func withTable<Result>(_ body: (inout AnswerTable) -> Result) -> Result {
        table.withLock(body)
    }

    /// Calls `classify` for every entry, releasing the lock between strides.
    func walk(_ classify: (borrowing AnswerTable, Int) -> AnswerTable.Verdict) {
        var position: Int? = 0
        while let next = position {
            position = table.withLock { $0.walk(from: next, count: Self.stride, classify) }
        }
    }

    /// Converts an instant to milliseconds since `origin`.
    func milliseconds(_ instant: Instant) -> UInt64 {
        let passed = origin.duration(to: instant).components
        guard passed.seconds >= 0 else { return 0 }
        return UInt64(passed.seconds) * 1000 + UInt64(passed.attoseconds / 1_000_000_000_000_000)
    }
}
