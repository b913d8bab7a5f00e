// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - One try

extension VendorClient {
    /// Asks one server, and counts what that costs.
    func ask(
        _ call: VendorCall,
        at server: SocketAddress,
        fresh: Bool,
        until deadline: ContinuousClock.Instant
    ) async -> Result<([VendorAnswer], HTTPReply), VendorError> {
        let lookup = call.lookup
        return await repaired(fresh: fresh, until: deadline) { [entropy] vendor in
            Exchange(
                server: server,
                charges: call.charges,
                write: { (wallSeconds) throws(VendorError) in
                    try vendor.request(for: lookup, at: server, now: wallSeconds, entropy: entropy)
                },
                read: { (reply) throws(VendorError) in try vendor.answers(to: lookup, in: reply) }
            )
        }
    }

    /// Makes an exchange with the vendor, and once more in its other way if that may help.
    ///
    /// What is wrong on our side is so repaired: the name that certificates are for, the form of
    /// the request, and, in either, the time that it is signed with.
    func repaired<Value: Sendable>(
        fresh: Bool,
        until deadline: ContinuousClock.Instant,
        _ exchange: (any Vendor) -> Exchange<Value>
    ) async -> Result<(Value, HTTPReply), VendorError> {
        let used = vendor
        let first = await signed(exchange(used), fresh: fresh, until: deadline)
        guard case .failure(let error) = first, let other = used.alternative(after: error),
            clocks.now() < deadline
        else { return first }
        let second = await signed(exchange(other), fresh: fresh, until: deadline)
        guard case .success = second else { return first }
        vendor = other
        return second
    }
}

// MARK: - Signing

/// A request that is signed with the time, and how its reply is read.
struct Exchange<Value: Sendable>: Sendable {
    let server: SocketAddress

    /// Whom it is charged to, by name; nobody for a request that costs nothing.
    let charges: [CostTable.Charge]

    let write: @Sendable (_ wallSeconds: Int64) throws(VendorError) -> HTTPRequest
    let read: @Sendable (HTTPReply) throws(VendorError) -> Value
}

extension VendorClient {
    /// The vendor's time, as far as we know it.
    var vendorSeconds: Int64 { skew.vendorSeconds(at: clocks.wallSeconds()) }

    /// Sends a request, and once more with the vendor's time if it is refused for ours.
    func signed<Value: Sendable>(
        _ exchange: Exchange<Value>,
        fresh: Bool,
        until deadline: ContinuousClock.Instant
    ) async -> Result<(Value, HTTPReply), VendorError> {
        let used = skew.offset ?? 0
        let (first, reply) = await send(exchange, offset: used, fresh: fresh, until: deadline)
        guard case .failure(let error) = first, error.mayBeClockSkew, let reply,
            let time = error.vendorSeconds ?? reply.date.flatMap(HTTPDate.init)?.seconds,
            let offset = skew.repair(
                used: used,
                vendorSeconds: time,
                wallSeconds: clocks.wallSeconds()
            ),
            clocks.now() < deadline
        else { return first }
        let (second, _) = await send(exchange, offset: offset, fresh: false, until: deadline)
        if case .success = second { skew.repaired(with: offset) }
        return second
    }

    /// Sends a request that is signed with our time and `offset`.
    ///
    /// - Returns: what became of it, and the reply if there was one.
    private func send<Value: Sendable>(
        _ exchange: Exchange<Value>,
        offset: Int64,
        fresh: Bool,
        until deadline: ContinuousClock.Instant
    ) async -> (Result<(Value, HTTPReply), VendorError>, HTTPReply?) {
        var request: HTTPRequest
        do throws(VendorError) {
            request = try exchange.write(clocks.wallSeconds() &+ offset)
        } catch {
            return (.failure(error), nil)
        }
        request.certificateFile = settings.certificateFile
        request.version = settings.version
        request.proxy = settings.proxy
        request.wantsFreshConnection = fresh

        guard pay(exchange) else { return (.failure(.budget), nil) }
        do throws(HTTPError) {
            let reply = try await transport.send(request, deadline: deadline)
            noteReply(reply, exchange)
            do throws(VendorError) {
                let value = try exchange.read(reply)
                settle(exchange, nil)
                return (.success((value, reply)), reply)
            } catch {
                settle(exchange, error)
                return (.failure(error), reply)
            }
        } catch {
            settle(exchange, .transport(error))
            return (.failure(.transport(error)), nil)
        }
    }
}

// MARK: - Counting

extension VendorClient {
    /// Counts a request that is about to be sent.
    ///
    /// - Returns: false if the budget forbids it.
    private func pay<Value>(_ exchange: Exchange<Value>) -> Bool {
        guard !exchange.charges.isEmpty else { return true }
        let now = clocks.wallSeconds()
        let isPaid = budget.spend(wallSeconds: now)
        tellOfBudget(now)
        guard isPaid else { return false }
        counters.tries += 1
        update(exchange.server) { $0.tries += 1 }
        return true
    }

    /// Tells the observer, once a day, that the budget is spent.
    private func tellOfBudget(_ wallSeconds: Int64) {
        guard let rule = budget.rule, budget.tells(wallSeconds: wallSeconds) else { return }
        observer?(.budgetSpent(rule))
    }

    /// Counts a reply, whatever it says.
    private func noteReply<Value>(_ reply: HTTPReply, _ exchange: Exchange<Value>) {
        guard !exchange.charges.isEmpty else { return }
        records[exchange.server]?.latency.note(reply.duration)
        if reply.connectionReused {
            counters.connectionsReused += 1
        } else {
            counters.connectionsOpened += 1
        }
    }

    /// Counts what a request cost after all.
    private func settle<Value>(_ exchange: Exchange<Value>, _ error: VendorError?) {
        guard !exchange.charges.isEmpty else { return }
        guard error?.mayBeBilled ?? true else {
            budget.refund()
            return
        }
        guard facts.isBillable else { return }
        counters.billable += 1
        counters.billableNames += UInt64(exchange.charges.count)
        for charge in exchange.charges {
            costs.note(charge)
            counters.billableByRoute[charge.route, default: 0] += 1
        }
    }

    /// Counts a try that brought nothing.
    func noteFailure(of server: SocketAddress, _ error: VendorError, _ now: ContinuousClock.Instant)
    {
        counters.failuresByKind[error.kind, default: 0] += 1
        // A call that was given up says nothing about the server.
        guard error.verdict != .notTheServer else { return }
        update(server) {
            $0.failures += 1
            $0.failuresInRow += 1
            $0.lastError = error
            $0.lastErrorAt = now
        }
    }

    /// Counts what the pool made of a report.
    func note(_ change: EndpointPool.Change?) {
        switch change {
        case .switched: counters.switches += 1
        case .returned: counters.returns += 1
        case nil: break
        }
    }

    /// Changes the counters of `server`, which has some from its first try on.
    private func update(_ server: SocketAddress, _ change: (inout ServerStatistics) -> Void) {
        change(
            &records[
                server,
                default: ServerRecord(statistics: ServerStatistics(address: server))
            ].statistics
        )
    }
}

extension VendorError {
    /// The vendor's clock, if the error tells it.
    fileprivate var vendorSeconds: Int64? {
        if case .wrongTime(_, _, let seconds) = self { seconds } else { nil }
    }
}
