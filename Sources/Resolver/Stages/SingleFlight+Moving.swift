// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

extension SingleFlight {
    /// Moves all waiting clients except `query.payer` to a new query, after a limit of
    /// `query.payer` has prevented a vendor call.
    ///
    /// The limits of the first moved client apply to the new query; only queries of `query.payer`
    /// join `query` from now on.
    ///
    /// - Parameter start: moves only clients that began to wait after this time.
    func separate(_ query: PendingQuery, since start: Instant? = nil) {
        guard let payer = query.payer, refuse(query, payer) else { return }
        func isMoved(_ waiter: Waiter) -> Bool {
            waiter.payer != payer && start.map { waiter.began > $0 } ?? true
        }
        let others = query.waiters.filter { isMoved($0) && !$0.isOver }
        guard !others.isEmpty else { return }
        query.removeWaiters { isMoved($0) || $0.isOver }
        resolveAgain(query, for: others)
    }

    private func refuse(_ query: PendingQuery, _ payer: ClientNetwork) -> Bool {
        if query.refused != nil { return true }
        let (question, hash) = (query.query, query.hash)
        guard pending.find(question, hash) === query,
            pending.find(question, hash, refused: payer) == nil
        else { return false }
        query.refused = payer
        separations += 1
        return true
    }

    /// Starts a new query, equal to `query`, for `waiters`, which the caller has removed from
    /// `query`.
    ///
    /// A client that has reached a limit of ``pending`` gets SERVFAIL.
    func resolveAgain(_ query: PendingQuery, for waiters: [Waiter]) {
        let (question, hash) = (query.query, query.hash)
        let now = clocks.now()
        var refused: Set<ClientNetwork?> = []
        let first = waiters.first {
            guard !refused.contains($0.client) else { return false }
            guard !makePlace(for: $0.client, now) else { return true }
            refused.insert($0.client)
            return false
        }
        // Evicts last, because completion handlers may start queries.
        defer { evict(waiters.filter { refused.contains($0.client) }) }
        guard let first else { return }
        // A completion handler that `makePlace` called may have started an equal query.
        let started = pending.find(question, hash)
        let next =
            started
            ?? start(
                question,
                hash,
                query.match,
                of: first.client,
                payer: first.payer,
                isAwaited: waiters.contains { $0.isAwaited },
                now
            )
        for waiter in waiters where !waiter.isOver && !refused.contains(waiter.client) {
            next.add(waiter)
        }
        // A direct call could cause recursion: a limit may also prevent the vendor call of `next`.
        if started == nil { ServiceLoop.task { [self] in begin(next) } }
    }
}

extension PendingQuery {
    /// Removes and returns the waiting clients for which a new query can succeed.
    ///
    /// Excludes `client`: its limits applied to this query, and would apply to the new query again.
    ///
    /// - Parameter includesUnproven: false if clients without a proven address have together used
    ///   up a limit; then these clients are not removed.
    func takeOtherWaiters(includesUnproven: Bool) -> [Waiter] {
        func isTaken(_ waiter: Waiter) -> Bool {
            let isProven = waiter.client?.isProven ?? true
            return (isProven || includesUnproven) && waiter.client != client && !waiter.isOver
        }
        let others = waiters.filter(isTaken)
        if !others.isEmpty { removeWaiters(where: isTaken) }
        return Array(others)
    }
}
