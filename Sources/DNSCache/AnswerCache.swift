// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Locks

/// The answer cache: bounded in octets, shared by the workers and the service loop.
///
/// One lock guards it, taken once a batch by a worker (`withTable`) and once a call by everybody
/// else.  It is held for what a batch of look-ups takes, about a microsecond; walks over all entries
/// let go of it again and again.
package final class AnswerCache: Sendable {
    private let table: Lock<AnswerTable>

    /// The same instance as the table's: hashing needs no lock.
    private let hash: NameHash

    /// The instant from which entries count their age.
    package let origin: ContinuousClock.Instant

    /// The smallest and the default size in octets.
    package static let sizes: (smallest: Int, standard: Int) = (256 << 10, 64 << 20)

    /// Entries that are looked at, and removed, while the lock is held once: some 20 µs.
    static let stride = 256

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - limit: octets that entries and index take at most; less than 256 KiB counts as that.
    ///   - origin: any instant not later than the first `now` that is passed in.
    ///   - seed: the secret of the hash: a random number from the kernel.
    ///   - rotates: whether each answer begins with another address than the one before.
    package init(
        limit: Int,
        origin: ContinuousClock.Instant,
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

    /// Lets each answer begin with another address than the one before from now on, or not.
    package func setRotation(_ rotates: Bool) {
        let changed = table.withLock { table in
            defer { table.rotates = rotates }
            return table.rotates != rotates
        }
        guard changed, rotates else { return }
        whileMirrorRests {
            walk { table, reference in
                table.ring[reference].answerCount > 1 ? .withdraw : .keep
            }
        }
    }

    // MARK: - Answering

    /// Under which number the question of `facts`, which were read from `octets`, is looked for.
    package func hash(_ facts: QueryFacts, in octets: RawSpan) -> UInt64 {
        hash(QueryView(facts, in: octets).name, type: facts.type.rawValue)
    }

    /// Takes the lock once for any number of queries, which `AnswerTable.answer` answers.
    ///
    /// - Parameter body: gets the table, and `now` as the table counts it.
    package func withTable<Result>(
        now: ContinuousClock.Instant,
        _ body: (inout AnswerTable, _ now: UInt64) -> Result
    ) -> Result {
        let now = milliseconds(now)
        return table.withLock { body(&$0, now) }
    }

    /// Stores an answer, in place of one for the same question and variant.
    ///
    /// An answer with a lifetime of zero, or larger than half the cache, is not stored.
    package func insert(_ answer: CachedAnswer, now: ContinuousClock.Instant) {
        guard answer.lifetime > 0 else { return }
        let now = milliseconds(now)
        _ = table.withLock { $0.insert(answer, now: now) }
    }

    /// The last good answer to a question, for when no better one is to be had (RFC 8767).
    ///
    /// Being asked so counts as demand: names that are asked for keep their place.
    ///
    /// - Parameters:
    ///   - variant: what the client said of DNSSEC.
    ///   - ttl: seconds that every record of a stale answer gets; RFC 8767 §4 says 30.
    package func staleAnswer(
        for question: Question,
        variant: AnswerVariant,
        ttl: UInt32,
        now: ContinuousClock.Instant
    ) -> StaleAnswer? {
        let now = milliseconds(now)
        return table.withLock {
            $0.staleAnswer(for: question, variant: variant, ttl: ttl, now: now)
        }
    }

    /// The good answer to a question that is fresh, as a copy.
    ///
    /// Being asked so is no demand: it is for those who want to know, not for clients.
    package func freshAnswer(
        for question: Question,
        variant: AnswerVariant,
        now: ContinuousClock.Instant
    ) -> FreshAnswer? {
        let now = milliseconds(now)
        return table.withLock { $0.freshAnswer(for: question, variant: variant, now: now) }
    }

    // MARK: - Looking

    /// Counts and sizes at this moment.
    package var numbers: CacheNumbers { table.withLock { $0.numbers } }

    /// How many answers were given by the `server` of their entries, at the place of its number.
    ///
    /// Copied one by one: an array shared with the table would be copied whole by the next hit.
    package var hitsByServer: [UInt64] { table.withLock { $0.hitsByServer.map(\.self) } }

    // MARK: - Removing

    /// Which entries to remove or to mark stale.
    package enum Selection: Sendable, Equatable {
        case all
        case name(Name, RecordType?)

        /// A name and everything below it.
        case tree(Name)

        /// Entries that say that something does not exist.
        case negative

        /// Entries whose time has passed, or that were marked so.
        case stale

        /// Entries that came from such a place.
        case source(AnswerSource)

        /// Entries that came from one of these vendors or upstreams, by the resolver's numbers.
        case servers(Set<UInt16>)
    }

    /// Removes entries and tells how many they were.
    @discardableResult
    package func remove(_ selection: Selection, now: ContinuousClock.Instant) -> Int {
        sweep(CacheSweep(self, selection, .remove), now: now)
    }

    /// Sweeps to the end at once: for whoever has nothing else to do.
    private func sweep(_ sweep: consuming CacheSweep, now: ContinuousClock.Instant) -> Int {
        while sweep.step(now: now) {}
        return sweep.count
    }

    /// Removes the entries that `judge` picks, and tells how many they were.
    @discardableResult
    package func remove(
        now: ContinuousClock.Instant,
        where judge: @escaping CacheSweep.Judge
    ) -> Int {
        sweep(CacheSweep(removingFrom: self, now: now, where: judge), now: now)
    }

    /// Gives some of what removed entries took back to the system, and tells whether there is more.
    func giveBack() -> Bool { table.withLock { $0.giveBack() } }

    /// Puts these addresses of a fresh answer first, in their order; none is added and none lost.
    ///
    /// It stays the answer it was, with its age and its demand.
    package func reorder(
        _ question: Question,
        variant: AnswerVariant,
        _ addresses: [IPAddress],
        now: ContinuousClock.Instant
    ) {
        guard question.type.isAddress else { return }
        let now = milliseconds(now)
        table.withLock { $0.reorder(question, variant: variant, addresses, now: now) }
    }

    /// Ends the time of fresh entries, as if their TTLs had run out at `now`, and tells how many
    /// they were.
    ///
    /// They keep their place and the window in which they may be given as stale answers.
    @discardableResult
    package func markStale(_ selection: Selection, now: ContinuousClock.Instant) -> Int {
        sweep(CacheSweep(self, selection, .markStale), now: now)
    }

    // MARK: - Snapshots

    /// Where a walk that begins now would be after a whole lap of the ring.
    var lapEnd: Int { table.withLock { $0.ring.head + $0.ring.capacity } }

    /// Some entries for a snapshot.
    func snapshotStride(from position: Int, now: ContinuousClock.Instant) -> SnapshotStride {
        let now = milliseconds(now)
        return table.withLock { $0.snapshotStride(from: position, now: now) }
    }

    /// Those of some entries that were asked for more than `least` times.
    func hotStride(
        from position: Int,
        above least: UInt32,
        now: ContinuousClock.Instant
    ) -> (entries: [HotEntry], next: Int?) {
        let now = milliseconds(now)
        return table.withLock { $0.hotStride(from: position, above: least, now: now) }
    }

    /// Stores what came out of a snapshot and tells how much of it, and how much of that is stale.
    func restore(
        _ entries: [SnapshotEntry],
        now: ContinuousClock.Instant
    ) -> (all: Int, stale: Int) {
        let now = milliseconds(now)
        return table.withLock { $0.restore(entries, now: now) }
    }

    // MARK: - Walking and counting

    /// Lets `body` change many entries, while nobody else answers: that is over at once, and what
    /// `body` keeps is there again at its end.
    private func whileMirrorRests(_ body: () -> Void) {
        let mirror = restingMirror()
        body()
        mirror?.resume()
    }

    /// The mirror, which answers nobody until whoever got it has it resume.
    func restingMirror() -> (any AnswerMirror)? {
        let mirror = table.withLock { $0.mirror }
        mirror?.suspend()
        return mirror
    }

    /// Takes the lock for what needs no time.
    func withTable<Result>(_ body: (inout AnswerTable) -> Result) -> Result {
        table.withLock(body)
    }

    /// Shows `judge` every entry, and lets go of the lock now and then.
    func walk(_ judge: (borrowing AnswerTable, Int) -> AnswerTable.Verdict) {
        var position: Int? = 0
        while let next = position {
            position = table.withLock { $0.walk(from: next, count: Self.stride, judge) }
        }
    }

    /// An instant as the table counts.
    func milliseconds(_ instant: ContinuousClock.Instant) -> UInt64 {
        let passed = origin.duration(to: instant).components
        guard passed.seconds >= 0 else { return 0 }
        return UInt64(passed.seconds) * 1000 + UInt64(passed.attoseconds / 1_000_000_000_000_000)
    }
}
