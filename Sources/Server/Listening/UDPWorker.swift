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

    /// What it answered last.
    let recent = RecentQueries()

    private let listener: DatagramListener
    private let cache: AnswerCache
    private let rules: HouseRules
    private let desk: MissDesk
    private let cookies: CookieJar?
    private let limit: RateLimit?
    private let own: OwnQuery?
    private let isStopping = Atomic(false)

    /// Errors in a row after which receiving is tried a hundred times a second only.
    private static let mostFailures = 64

    /// Makes a worker for `listener`; `run` makes it work.
    ///
    /// - Parameters:
    ///   - rules: may change while it works.
    ///   - cookies: answers the cookies of clients; nil on loopback, where an address proves itself.
    ///   - limit: of those who have none; nil on loopback.
    ///   - own: the daemon's own question, which is handed over whoever may ask.
    init(
        _ listener: DatagramListener,
        cache: AnswerCache,
        rules: HouseRules,
        desk: MissDesk,
        cookies: CookieJar? = nil,
        limit: RateLimit? = nil,
        own: OwnQuery? = nil
    ) {
        self.cookies = cookies
        self.limit = limit
        self.own = own
        self.listener = listener
        self.cache = cache
        self.rules = rules
        self.desk = desk
    }

    /// Answers until `stop` is called.
    ///
    /// To be called on a thread of its own.
    func run() {
        var batch = DatagramBatch(for: listener)
        var queries = PlainQueries()
        var rules = HouseRules.Copy(of: rules)
        var lookout = Lookout()
        var idleSince = Clock.now
        var failures = 0
        while !isStopping.load(ordering: .relaxed) {
            let count = receive(&batch, lookout, idleSince)
            guard count > 0 else {
                failures += 1
                // An ICMP message that came back, an interrupted call: the next call goes on.  Only
                // an error that stays, such as a network that is down, must not eat a processor.
                if failures > Self.mostFailures { WorkerThread.pause(milliseconds: 10) }
                continue
            }
            failures = 0
            rules.update(from: self.rules)
            let edition = rules.edition
            let start = Clock.now
            lookout.note(wait: start - idleSince)
            let terms = cookies?.terms(now: start, wallSeconds: Clock.wallSeconds)
            var unusual = SlotSet()
            queries.removeAll()
            for slot in 0..<count {
                look(at: slot, &batch, edition, terms, start, &queries, &unusual)
            }
            let outcome = answer(&queries, &batch, now: start)
            let unsent = batch.send(to: listener)
            idleSince = Clock.now
            QueryCounters.add(UInt64(unsent), to: counters.unsent)
            if !outcome.hits.isEmpty { note(outcome.hits, &queries, &batch, start, idleSince) }
            let misses = outcome.misses.union(unusual)
            if !misses.isEmpty { handOver(misses, batch, edition, terms, start) }
            if !outcome.refreshes.isEmpty { refresh(outcome.refreshes, queries, batch) }
            if outcome.hasOffers { cache.writeOffers(now: start) }
        }
    }

    /// Waits for datagrams, at first without sleeping if that is likely to pay.
    private func receive(
        _ batch: inout DatagramBatch,
        _ lookout: Lookout,
        _ idleSince: ContinuousClock.Instant
    ) -> Int {
        if lookout.isAwake {
            let end = idleSince + Lookout.time
            repeat {
                let count = batch.receive(from: listener, waits: false)
                if count != 0 { return count }
            } while Clock.now < end
        }
        return batch.receive(from: listener)
    }

    /// Ends `run`, which may be waiting for a datagram.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        listener.stopReceiving()
    }

    /// Reads the datagram in `slot`, and answers it in place if that needs no cache.
    private func look(
        at slot: Int,
        _ batch: inout DatagramBatch,
        _ rules: HouseRules.Edition,
        _ terms: CookieTerms?,
        _ now: ContinuousClock.Instant,
        _ queries: inout PlainQueries,
        _ unusual: inout SlotSet
    ) {
        let count = batch.count(slot)
        let asker = asker(slot, batch, rules, terms)
        let isOwn = limit != nil && isOwn(slot, batch)
        let length = batch.withBuffer(slot) { buffer -> Int in
            let look = FirstLook(at: &buffer, count: count, from: asker)
            if let limit, let perSecond = rules.queriesPerSecond, !isOwn, !look.isProven {
                let verdict = limit.verdict(on: asker.address, perSecond: perSecond, now: now)
                if verdict != .passes { return turnAway(look, verdict, in: &buffer) }
            }
            switch look {
            case .query(let facts, _):
                queries.add(facts, hash: cache.hash(facts, in: buffer.bytes), at: slot)
            case .unusual:
                unusual.insert(slot)
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

    /// Answers one query too many, if at all, and returns the length of the reply.
    private func turnAway(
        _ look: FirstLook,
        _ verdict: RateLimit.Verdict,
        in buffer: inout MutableRawSpan
    ) -> Int {
        QueryCounters.add(1, to: counters.limited)
        guard verdict == .truncated, case .query(let facts, _) = look else { return 0 }
        counters.count(.refused, .noData, .udp)
        QueryCounters.add(1, to: counters.truncated)
        return facts.reply(
            rcode: RCode.noError.rawValue,
            moreFlags: HeaderFlags.truncated,
            in: &buffer
        )
    }

    /// Answers in place what the cache knows of `queries`.
    private func answer(
        _ queries: inout PlainQueries,
        _ batch: inout DatagramBatch,
        now: ContinuousClock.Instant
    ) -> PlainQueries.Outcome {
        queries.lookUp(in: cache, now: now) { slot, facts, hash, table, now in
            let hit = batch.withBuffer(slot) { buffer in
                table.answer(facts, hash: hash, in: &buffer, limit: facts.replyLimit, now: now)
            }
            if let hit {
                batch.reply(slot, count: hit.length)
                counters.count(hit, over: .udp)
            }
            return hit
        }
    }

    /// Notes what was answered, and how long that took.
    private func note(
        _ hits: SlotSet,
        _ queries: inout PlainQueries,
        _ batch: inout DatagramBatch,
        _ start: ContinuousClock.Instant,
        _ end: ContinuousClock.Instant
    ) {
        counters.hitLatency.note(end - start, times: UInt64(hits.count))
        recent.note(hits, of: &queries, in: &batch, since: start, until: end)
    }

    /// Gives the datagrams in the slots of `misses` to the service loop.
    private func handOver(
        _ misses: SlotSet,
        _ batch: borrowing DatagramBatch,
        _ rules: HouseRules.Edition,
        _ terms: CookieTerms?,
        _ start: ContinuousClock.Instant
    ) {
        var handed: [Miss] = []
        handed.reserveCapacity(misses.count)
        for slot in misses {
            handed.append(
                Miss(
                    datagram: batch.copy(slot),
                    listener: listener,
                    asker: asker(slot, batch, rules, terms),
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
        _ rules: HouseRules.Edition,
        _ terms: CookieTerms?
    ) -> Asker {
        let address = batch.withClientAddress(slot) { IPAddress($0) }
        return Asker(
            transport: .udp,
            address: address,
            isAllowed: rules.access.allows(address) || isOwn(slot, batch),
            cookies: terms
        )
    }

    /// Whether the daemon itself asks in `slot`.
    private func isOwn(_ slot: Int, _ batch: borrowing DatagramBatch) -> Bool {
        guard let own else { return false }
        return batch.holds(own.question, behind: OwnQuery.headerOctets, in: slot)
    }

    /// Tells the service loop which of the questions just answered are to be asked anew.
    private func refresh(
        _ slots: SlotSet,
        _ queries: borrowing PlainQueries,
        _ batch: borrowing DatagramBatch
    ) {
        for slot in slots {
            let query = Query(
                answeredIn: batch.copy(slot).octets,
                dnssecOK: queries.wantsDNSSEC(slot)
            )
            if let query { desk.take(refresh: query) }
        }
    }
}
