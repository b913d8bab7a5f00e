// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

extension SingleFlight {
    /// Moves the other clients to a new query if the payer of `query` has reached a limit of calls.
    ///
    /// Vendor calls of the new query are charged to the first of these clients. Further clients do
    /// not join `query`.
    ///
    /// - Parameter start: only clients that began to wait after this time are moved; nil for all.
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

    /// Prevents other clients from joining `query`.
    ///
    /// Returns false if the table already has another refused query of this payer.
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

    /// Starts a new query for the first of `waiters`; the other waiters join this query.
    ///
    /// These waiters no longer wait for `query`, and do not get its result. A client at a limit of
    /// ``pending`` gets SERVFAIL.
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
        // Clients are evicted at the end, because their completion handlers may start queries.
        defer { evict(waiters.filter { refused.contains($0.client) }) }
        guard let first else { return }
        // `makePlace` may have called the completion handler of another client, which may have
        // started an equal query.
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
        // `begin` is called in a later turn of the service loop. A limit may also prevent the
        // vendor call of `next`, and a direct call of `begin` would then call this function
        // recursively.
        if started == nil { ServiceLoop.task { [self] in begin(next) } }
    }
}

extension PendingQuery {
    /// Removes and returns the waiting clients whose own query can succeed, except `client`.
    ///
    /// - Parameter includesUnproven: false if the clients without a proven address have reached a
    ///   common limit.
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
