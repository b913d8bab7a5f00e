// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
package import Net
internal import Resolver
internal import Synchronization

/// Worker thread that answers queries from the cache, and queues misses for the service loop.
///
/// A hit does not allocate, log or block.
package final class UDPWorker: Sendable {
    package let counters = QueryCounters()

    package let recent: RecentQueries

    private let listener: DatagramListener
    private let cache: AnswerCache
    private let rules: AccessPolicy
    private let queue: MissQueue
    private let cookies: CookieJar?
    private let limit: RateLimit?
    private let own: OwnQuery?
    private let isStopping = Atomic(false)

    /// True if the worker and the service loop run on the only processor of this process.
    ///
    /// Then the worker lets the service loop run after misses. Without this, each query that
    /// arrives would wake the worker, and the worker would interrupt the service loop.
    private let sharesProcessor = WorkerThread.processors == 1

    /// Consecutive receive errors after which the worker waits 10 ms before each attempt.
    private static let mostFailures = 64

    /// - Parameters:
    ///   - cookies: nil on loopback, where addresses cannot be forged.
    ///   - limit: nil on loopback.
    ///   - own: health check query, accepted from any address.
    package init(
        _ listener: DatagramListener,
        cache: AnswerCache,
        rules: AccessPolicy,
        queue: MissQueue,
        cookies: CookieJar? = nil,
        limit: RateLimit? = nil,
        own: OwnQuery? = nil,
        recent: RecentQueries = RecentQueries()
    ) {
        self.recent = recent
        self.cookies = cookies
        self.limit = limit
        self.own = own
        self.listener = listener
        self.cache = cache
        self.rules = rules
        self.queue = queue
    }

    /// Answers queries until `stop` is called; blocks the calling thread.
    package func run() {
        var batch = DatagramBatch(for: listener)
        var queries = PlainQueries()
        var rules = AccessPolicy.Copy(of: rules)
        var busyPoll = BusyPoll()
        var queued: [Miss] = []
        var idleSince = Clock.now
        var failures = 0
        while !isStopping.load(ordering: .relaxed) {
            let count = receive(&batch, busyPoll, idleSince)
            guard count > 0 else {
                failures += 1
                // Without this pause, a permanent error would keep a processor busy.
                if failures > Self.mostFailures { WorkerThread.pause(milliseconds: 10) }
                continue
            }
            failures = 0
            rules.update(from: self.rules)
            let snapshot = rules.snapshot
            let start = Clock.now
            busyPoll.note(wait: start - idleSince)
            let terms = cookies?.terms(now: start, wallSeconds: Clock.wallSeconds)
            var unusual = SlotSet()
            queries.removeAll()
            for slot in 0..<count {
                look(at: slot, &batch, snapshot, terms, start, &queries, &unusual)
            }
            let outcome = answer(&queries, &batch, now: start)
            let unsent = batch.send(to: listener)
            idleSince = Clock.now
            QueryCounters.add(UInt64(unsent), to: counters.unsent)
            if !outcome.hits.isEmpty { note(outcome.hits, &queries, &batch, start, idleSince) }
            let misses = outcome.misses.union(unusual)
            if !misses.isEmpty {
                queueMisses(misses, &queries, &batch, snapshot, terms, start, &queued)
                if sharesProcessor { WorkerThread.yield() }
            }
            if !outcome.refreshes.isEmpty { refresh(outcome.refreshes, queries, batch) }
            if outcome.hasOffers { cache.writeOffers(now: start) }
        }
    }

    private func receive(
        _ batch: inout DatagramBatch,
        _ busyPoll: BusyPoll,
        _ idleSince: Instant
    ) -> Int {
        if busyPoll.isSpinning {
            let end = idleSince + BusyPoll.time
            repeat {
                let count = batch.receive(from: listener, waits: false)
                if count != 0 { return count }
            } while Clock.now < end
        }
        return batch.receive(from: listener)
    }

    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        listener.stopReceiving()
    }

    private func look(
        at slot: Int,
        _ batch: inout DatagramBatch,
        _ rules: AccessPolicy.Snapshot,
        _ terms: CookieTerms?,
        _ now: Instant,
        _ queries: inout PlainQueries,
        _ unusual: inout SlotSet
    ) {
        let count = batch.count(slot)
        let clientContext = clientContext(slot, batch, rules, terms)
        let isOwn = limit != nil && isOwn(slot, batch)
        let length = batch.withBuffer(slot) { buffer -> Int in
            let look = QueryValidation(at: &buffer, count: count, from: clientContext)
            if let limit, let perSecond = rules.queriesPerSecond, !isOwn, !look.isProven {
                let decision = limit.decision(
                    on: clientContext.address,
                    perSecond: perSecond,
                    now: now
                )
                if decision != .passes { return reject(look, decision, in: &buffer) }
            }
            switch look {
            case .query(let facts, let isProven):
                let hash = cache.hash(facts, in: buffer.bytes)
                queries.add(facts, hash: hash, isProven: isProven, at: slot)
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

    /// Returns the size of the reply, 0 for none.
    private func reject(
        _ look: QueryValidation,
        _ decision: RateLimit.Decision,
        in buffer: inout MutableRawSpan
    ) -> Int {
        QueryCounters.add(1, to: counters.limited)
        guard decision == .truncated, case .query(let facts, _) = look else { return 0 }
        counters.count(.refused, .noData, .udp)
        QueryCounters.add(1, to: counters.truncated)
        return facts.reply(
            rcode: RCode.noError.rawValue,
            moreFlags: HeaderFlags.truncated,
            in: &buffer
        )
    }

    private func answer(
        _ queries: inout PlainQueries,
        _ batch: inout DatagramBatch,
        now: Instant
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

    private func note(
        _ hits: SlotSet,
        _ queries: inout PlainQueries,
        _ batch: inout DatagramBatch,
        _ start: Instant,
        _ end: Instant
    ) {
        counters.hitLatency.note(end - start, times: UInt64(hits.count))
        recent.note(hits, of: &queries, in: &batch, since: start, until: end)
    }

    private func queueMisses(
        _ misses: SlotSet,
        _ queries: inout PlainQueries,
        _ batch: inout DatagramBatch,
        _ rules: AccessPolicy.Snapshot,
        _ terms: CookieTerms?,
        _ start: Instant,
        _ queued: inout [Miss]
    ) {
        var own: [Miss] = []
        for slot in misses {
            let isOwn = isOwn(slot, batch)
            let plain = isOwn ? nil : queries.query(slot, in: &batch)
            let miss = Miss(
                datagram: batch.copy(slot, first: plain == nil ? nil : 0),
                listener: listener,
                clientContext: clientContext(slot, batch, rules, terms),
                arrival: start,
                plain: plain
            )
            if isOwn { own.append(miss) } else { queued.append(miss) }
        }
        queue.take(queued, own: own)
        queued.empty()
    }

    private func clientContext(
        _ slot: Int,
        _ batch: borrowing DatagramBatch,
        _ rules: AccessPolicy.Snapshot,
        _ terms: CookieTerms?
    ) -> ClientContext {
        let address = batch.withClientAddress(slot) { IPAddress($0) }
        return ClientContext(
            transport: .udp,
            address: address,
            isAllowed: rules.access.allows(address) || isOwn(slot, batch),
            cookies: terms
        )
    }

    private func isOwn(_ slot: Int, _ batch: borrowing DatagramBatch) -> Bool {
        guard let own else { return false }
        return batch.holds(own.question, behind: OwnQuery.headerOctets, in: slot)
    }

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
            guard let query else { continue }
            let address = batch.withClientAddress(slot) { IPAddress($0) }
            queue.take(refresh: query, of: ClientNetwork(of: address, isProven: address.isLoopback))
        }
    }
}
