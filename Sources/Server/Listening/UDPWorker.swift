// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver
internal import Synchronization

/// A thread that answers datagrams from the cache and hands over the rest.
///
/// Its whole life is the loop in `run`: receive a batch, look at each datagram where it lies, answer
/// there what the cache knows, send the batch.  On that way nothing is allocated, logged or waited
/// for, and the cache's lock is taken once a batch.
final class UDPWorker: Sendable {
    /// What this worker counted.
    let counters = QueryCounters()

    private let listener: DatagramListener
    private let cache: AnswerCache
    private let access: AccessList
    private let desk: MissDesk
    private let cookies: CookieJar?
    private let asksCache: Bool
    private let isStopping = Atomic(false)

    /// Errors in a row after which receiving is tried a hundred times a second only.
    private static let mostFailures = 64

    /// Makes a worker for `listener`; `run` makes it work.
    ///
    /// - Parameters:
    ///   - cookies: answers the cookies of clients; nil on loopback, where an address proves itself.
    ///   - asksCache: whether the worker answers what it can.  Otherwise it hands over every query,
    ///     for the service loop to see them all; a worker itself never logs.
    init(
        _ listener: DatagramListener,
        cache: AnswerCache,
        access: AccessList,
        desk: MissDesk,
        cookies: CookieJar? = nil,
        asksCache: Bool
    ) {
        self.cookies = cookies
        self.asksCache = asksCache
        self.listener = listener
        self.cache = cache
        self.access = access
        self.desk = desk
    }

    /// Answers until `stop` is called.
    ///
    /// To be called on a thread of its own.
    func run() {
        var batch = DatagramBatch(for: listener)
        var failures = 0
        while !isStopping.load(ordering: .relaxed) {
            let count = batch.receive(from: listener)
            guard count > 0 else {
                failures += 1
                // An ICMP message that came back, an interrupted call: the next call goes on.  Only
                // an error that stays, such as a network that is down, must not eat a processor.
                if failures > Self.mostFailures { WorkerThread.pause(milliseconds: 10) }
                continue
            }
            failures = 0
            let start = Clock.now
            let terms = cookies?.terms(now: start, wallSeconds: Clock.wallSeconds)
            let outcome = cache.withTable(now: start) { table, now in
                var outcome = BatchOutcome()
                for slot in 0..<count {
                    answer(slot, &batch, terms, &table, now, &outcome)
                }
                return outcome
            }
            let unsent = batch.send(to: listener)
            QueryCounters.add(UInt64(unsent), to: counters.unsent)
            if outcome.hits > 0 {
                counters.hitLatency.note(Clock.now - start, times: outcome.hits)
            }
            if outcome.misses != 0 { handOver(outcome.misses, batch, terms, start) }
            if outcome.refreshes != 0 { refresh(outcome.refreshes, outcome.signed, batch) }
        }
    }

    /// Ends `run`, which may be waiting for a datagram.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        listener.stopReceiving()
    }

    /// What came of the datagrams of a batch.
    private struct BatchOutcome {
        var hits: UInt64 = 0

        /// Bit n is set if the cache has no answer to the datagram in slot n.
        var misses: UInt32 = 0

        /// Bit n is set if the answer to the datagram in slot n is to be asked for anew.
        var refreshes: UInt32 = 0

        /// Of those: bit n is set if the client wants DNSSEC records.
        var signed: UInt32 = 0
    }

    /// Answers the datagram in `slot` in place, if that can be done without waiting.
    private func answer(
        _ slot: Int,
        _ batch: inout DatagramBatch,
        _ terms: CookieTerms?,
        _ table: inout AnswerTable,
        _ now: UInt64,
        _ outcome: inout BatchOutcome
    ) {
        let count = batch.count(slot)
        let asker = asker(slot, batch, terms)
        let length = batch.withBuffer(slot) { buffer -> Int in
            switch FirstLook(at: &buffer, count: count, from: asker) {
            case .query(let facts, _):
                if asksCache,
                    let hit = table.answer(facts, in: &buffer, limit: facts.replyLimit, now: now)
                {
                    counters.count(
                        .cache,
                        QueryOutcome(rcode: UInt16(hit.rcode), isEmpty: hit.isEmpty),
                        .udp
                    )
                    if hit.isTruncated { QueryCounters.add(1, to: counters.truncated) }
                    outcome.hits += 1
                    if hit.wantsRefresh {
                        outcome.refreshes |= 1 << UInt32(slot)
                        if facts.dnssecOK { outcome.signed |= 1 << UInt32(slot) }
                    }
                    return hit.length
                }
                outcome.misses |= 1 << UInt32(slot)
            case .unusual:
                outcome.misses |= 1 << UInt32(slot)
            case .answered(let length, let source, let result):
                counters.count(source, result, .udp)
                return length
            case .ignored:
                QueryCounters.add(1, to: counters.ignored)
            }
            return 0
        }
        if length > 0 { batch.reply(slot, count: length) }
    }

    /// Gives the datagrams in the slots of `misses` to the service loop.
    private func handOver(
        _ misses: UInt32,
        _ batch: borrowing DatagramBatch,
        _ terms: CookieTerms?,
        _ start: ContinuousClock.Instant
    ) {
        var handed: [Miss] = []
        handed.reserveCapacity(misses.nonzeroBitCount)
        for slot in 0..<DatagramBatch.capacity where misses & 1 << UInt32(slot) != 0 {
            handed.append(
                Miss(
                    datagram: batch.copy(slot),
                    listener: listener,
                    asker: asker(slot, batch, terms),
                    arrival: start
                )
            )
        }
        desk.take(handed)
    }

    /// Who sent the datagram in `slot`.
    private func asker(
        _ slot: Int,
        _ batch: borrowing DatagramBatch,
        _ terms: CookieTerms?
    ) -> Asker {
        let address = batch.withClientAddress(slot) { IPAddress($0) }
        return Asker(
            transport: .udp,
            address: address,
            isAllowed: access.allows(address),
            cookies: terms
        )
    }

    /// Tells the service loop which of the questions just answered are to be asked anew.
    private func refresh(_ slots: UInt32, _ signed: UInt32, _ batch: borrowing DatagramBatch) {
        for slot in 0..<DatagramBatch.capacity where slots & 1 << UInt32(slot) != 0 {
            let query = Query(
                answeredIn: batch.copy(slot).octets,
                dnssecOK: signed & 1 << UInt32(slot) != 0
            )
            if let query { desk.take(refresh: query) }
        }
    }
}
