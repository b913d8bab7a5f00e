// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// Checks of the connections with queries of the daemon itself.
extension HTTPSTransport {
    /// Sends queries of the daemon itself if client queries get no reply.
    func checkSilence() {
        guard let since = silentSince else { return }
        let now = clocks.now()
        let check = since + silentTime * 2 / 3
        guard now >= check else { return alarm.set(check) }
        var end = since + silentTime
        if let lastRenewed, renewals.repliedAt.map({ $0 < lastRenewed }) ?? true {
            end = max(end, lastRenewed + UpstreamLimits.silence)
        }
        guard now < end else { return renew(at: now) }
        alarm.set(end)
        guard silenceProbed != since else { return }
        silenceProbed = since
        sendProbe(isFresh: false, now)
    }

    /// Time without a reply after which a new connection is opened.
    ///
    /// The daemon sends its own query after two thirds of this time, so the last third must be
    /// sufficient for a reply. On a network with a long round trip, `usual` is long enough, because
    /// it includes the TLS handshake.
    var silentTime: Duration {
        guard let usual = opening.usual else { return UpstreamLimits.silence }
        return min(max(usual, UpstreamLimits.silentWait) * 3 / 2, UpstreamLimits.silence)
    }

    /// Opens a new connection with a query of the daemon.
    func renew(at now: Instant) {
        silentSince = nil
        sendProbe(isFresh: true, now)
    }

    /// Watches one of the requests that wait for a connection.
    func watchOpening(_ request: any RequestHandle, _ attempt: Attempt, _ now: Instant) {
        if let watched, isOpening(watched.request), !watched.attempt.isOver { return }
        watched = (request, attempt, now)
        openingAlarm.bring(forward: now + opening.time)
    }

    /// True if the request has no connection, or a new one that perhaps leads to a silent host.
    ///
    /// Over HTTP/1.1, a request on a new connection can wait for a slow name. Before the first reply,
    /// the version is unknown.
    private func isOpening(_ request: any RequestHandle) -> Bool {
        request.sentAt == nil
            || opening.usual != nil && !transfers.isHTTP1 && request.isOnNewConnection
    }

    /// Opens another connection if a new connection is silent; waiting requests then use it.
    func checkOpening() {
        guard let watched, isOpening(watched.request), !watched.attempt.isOver else {
            return self.watched = nil
        }
        let now = clocks.now()
        // A request that was sent can wait for a slow name.
        let wait =
            watched.request.sentAt == nil
            ? opening.time : max(opening.time, UpstreamLimits.fairWait)
        let end = watched.since + wait
        guard now >= end else { return openingAlarm.set(end) }
        opening.openedAnother()
        self.watched = (watched.request, watched.attempt, now)
        openingAlarm.set(now + opening.time)
        sendProbe(isFresh: true, now)
    }

    private func sendProbe(isFresh: Bool, _ now: Instant) {
        let lastReply = renewals.repliedAt
        if isFresh { lastRenewed = now }
        send(exchange(.probe), isFresh: isFresh, until: now + UpstreamLimits.connect) {
            [self] sent in
            if isFresh, case .success(let reply) = sent, !reply.connectionReused {
                separateSuspect(before: now, lastReply)
            }
            note(sent, since: now)
        }
    }

    /// Sends a query of the daemon over the connection that carries the clients' queries.
    @discardableResult
    private func send(
        _ exchange: UpstreamExchange,
        isFresh: Bool = false,
        until deadline: Instant,
        _ completion: @escaping HTTPTransport.Handler
    ) -> any RequestHandle {
        http.send(request(exchange, isFresh: isFresh), deadline: deadline, completion)
    }

    /// Replaces the connections to the server if a check shows that a connection is faulty.
    ///
    /// See ``PipelinedConnection/check(_:ended:)``. HTTP/1.1 has no queries that share a connection.
    func checkConnection(_ usesEDNS: Bool, _ now: Instant) {
        guard !transfers.isHTTP1, let number = connectionCheck.begin(at: now) else { return }
        for (index, query) in Query.samples.prefix(UpstreamLimits.lossCheckQueries).enumerated() {
            let exchange = exchange(query, usesEDNS: usesEDNS)
            let request = send(exchange, until: now + UpstreamLimits.silence) { [self] sent in
                let isUsable = outcome(of: sent, to: exchange).isUsable
                let fault = connectionCheck.ended(
                    index,
                    sent,
                    isUsable: isUsable,
                    of: number,
                    at: clocks.now()
                )
                guard let fault else { return }
                switch fault {
                // Lost queries need repetitions.
                case .losses: http.reset(only: template.provider)
                case .errors: http.replaceConnections(of: template.provider)
                }
                // The next host of a pool can also be faulty.
                checkConnection(usesEDNS, clocks.now())
            }
            connectionCheck.requests.append(request)
        }
    }

    /// Clears `silentSince` after a reply or an error; a timeout or a cancellation changes nothing.
    func note(_ sent: Result<HTTPReply, HTTPError>, since start: Instant) {
        switch sent {
        case .failure(.timedOut), .failure(.cancelled): return
        case .failure: break
        case .success(let reply):
            let now = clocks.now()
            lastRenewed = now
            renewals.repliedAt = now
            watched = nil
            // Includes the wait for the first reply.
            if !reply.connectionReused { opening.replied(now - start) }
        }
        silentSince = nil
    }
}
