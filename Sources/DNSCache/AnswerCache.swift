// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Locks
@_exported public import Monotonic

/// Answer cache, shared by the workers and the service loop.
package final class AnswerCache: Sendable {
    private let table: Lock<AnswerTable>

    package let hash: NameHash

    /// Times in the cache are milliseconds since this instant.
    package let origin: Instant

    /// In octets.
    package static let sizes: (smallest: Int, standard: Int) = (256 << 10, 64 << 20)

    /// Entries that one step examines under the lock; this takes about 20 µs.
    static let stride = 256

    /// Creates a cache of `limit` octets, at least 256 KiB.
    ///
    /// - Parameters:
    ///   - origin: must not be later than `now` in any later call.
    ///   - seed: secret key of the hash function.
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

    /// Returns true if the system would now map the memory for a cache of `limit` octets.
    package static func fits(limit: Int) -> Bool {
        Pages.fits(octets: limit + sizes.smallest)
    }

    package func setRotation(_ rotates: Bool) {
        let changed = table.withLock { table in
            defer { table.rotates = rotates }
            return table.rotates != rotates
        }
        guard changed, rotates else { return }
        let mirror = restingMirror()
        walk { table, reference in
            table.ring[reference].answerCount > 1 ? .withdraw : .keep
        }
        mirror?.resume()
    }

    /// Starts or ends a period in which the workers do not use the cache.
    ///
    /// - Returns: the suspended mirror, which the caller must resume when the period ends; nil
    ///   without a mirror, or if `isBypassed` is false.
    package func setBypassed(_ isBypassed: Bool) -> (any AnswerMirror)? {
        let mirror = isBypassed ? restingMirror() : nil
        table.withLock { $0.isBypassed = isBypassed }
        return mirror
    }

    // MARK: - Answering

    package func hash(_ facts: QueryFacts, in octets: RawSpan) -> UInt64 {
        hash(QueryView(facts, in: octets).name, type: facts.type.rawValue)
    }

    /// Calls `body` under the lock, with `now` in milliseconds since `origin`.
    package func withTable<Result>(
        now: Instant,
        _ body: (inout AnswerTable, _ now: UInt64) -> Result
    ) -> Result {
        let now = milliseconds(now)
        return table.withLock { body(&$0, now) }
    }

    /// Returns false only if the cache has no entry, fresh or expired, with this hash.
    package func mayContain(_ hash: UInt64) -> Bool { table.withLock { $0.mayContain(hash) } }

    /// Stores an answer, unless its lifetime is 0, or the cache has no room for it.
    package func insert(_ answer: CachedAnswer, hash: UInt64? = nil, now: Instant) {
        guard answer.lifetime > 0 else { return }
        _ = withTable(now: now) { $0.insert(answer, hash: hash, now: $1) }
    }

    /// Returns the newest NOERROR or NXDOMAIN answer, and counts a hit.
    ///
    /// `ttl` is the TTL of stale records in seconds; RFC 8767 §4 recommends 30.
    package func staleAnswer(
        for question: Question,
        hash: UInt64? = nil,
        variant: AnswerVariant,
        ttl: UInt32,
        now: Instant
    ) -> StaleAnswer? {
        withTable(now: now) {
            $0.staleAnswer(for: question, hash: hash, variant: variant, ttl: ttl, now: $1)
        }
    }

    /// Returns the fresh NOERROR or NXDOMAIN answer, and does not count a hit.
    package func freshAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: Instant
    ) -> FreshAnswer? {
        withTable(now: now) { $0.freshAnswer(for: question, variant: variant, now: $1) }
    }

    /// Returns the cached answer while the workers bypass the cache; otherwise nil.
    package func bypassedAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: Instant
    ) -> CachedAnswer? {
        withTable(now: now) { $0.bypassedAnswer(for: question, variant: variant, now: $1) }
    }

    // MARK: - Numbers

    package var numbers: CacheNumbers { table.withLock { $0.numbers } }

    /// Hits by source number.
    ///
    /// `map` copies the array now. If the array itself were returned, the next hit would copy it
    /// (copy on write).
    package var hitsByServer: [UInt64] { table.withLock { $0.hitsByServer.map(\.self) } }

    // MARK: - Removing

    package enum Selection: Sendable, Equatable {
        case all
        case name(Name, RecordType?)

        case tree(Name)

        case negative

        case stale

        case source(AnswerSource)

        /// Answers of these source numbers.
        case servers(Set<UInt16>)
    }

    /// Moves the records of `addresses` to the start of the fresh cached answer, in this order.
    package func reorder(
        _ question: Question,
        variant: AnswerVariant,
        _ addresses: [IPAddress],
        now: Instant
    ) {
        guard question.type.isAddress else { return }
        withTable(now: now) { $0.reorder(question, variant: variant, addresses, now: $1) }
    }

    // MARK: - Snapshots

    var lapEnd: Int { table.withLock { $0.ring.head + $0.ring.capacity } }

    // MARK: - Walking and counting

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

    func milliseconds(_ instant: Instant) -> UInt64 {
        let passed = instant.nanoseconds.subtractingReportingOverflow(origin.nanoseconds)
        guard !passed.overflow, passed.partialValue > 0 else { return 0 }
        return UInt64(passed.partialValue) / 1_000_000
    }
}
