// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Requests of clients that each have a connection of their own.
struct SeparateRequests {
    /// Questions that possibly made a connection silent; each query for them gets a connection of its
    /// own.
    var questions = RecentKeys<Question>()

    private var counts: [ClientNetwork?: Int] = [:]
    private var total = 0

    /// Requests that wait for the end of another one.
    var waiting: [(client: ClientNetwork?, start: @ServiceLoop () -> Void)] = []

    /// Adds a request; returns false if `client` already has half of the places that other clients
    /// do not use.
    mutating func begin(_ client: ClientNetwork?) -> Bool {
        guard mayBegin(client) else { return false }
        counts[client, default: 0] += 1
        total += 1
        return true
    }

    func mayBegin(_ client: ClientNetwork?) -> Bool {
        let own = counts[client] ?? 0
        let free = UpstreamLimits.separateRequests - (total - own)
        return own < (free + 1) / 2
    }

    mutating func end(_ client: ClientNetwork?) {
        guard let own = counts[client] else { return }
        counts[client] = own > 1 ? own - 1 : nil
        total -= 1
    }
}

/// Request of a client on a connection that other clients also use.
struct SharedRequest {
    let attempt: Attempt
    let handle: any RequestHandle
    let start: Instant

    /// True if the request was cancelled, to be sent again on another connection.
    var isMoved = false
}

// Queries after which the server no longer replied on their connection.
extension HTTPSTransport {
    var separateProvider: String { "\(template.provider) separate" }

    func endSeparate(_ client: ClientNetwork?) {
        separate.end(client)
        while let index = separate.waiting.firstIndex(where: { separate.mayBegin($0.client) }) {
            separate.waiting.remove(at: index).start()
        }
    }

    /// Moves the query that possibly made a connection silent to a connection of its own.
    ///
    /// On the new connection, this query could make the server stop replying again. libcurl sends
    /// only the other queries on the new connection.
    ///
    /// - Parameters:
    ///   - renewed: time at which the new connection was requested.
    ///   - lastReply: time of the last reply before `renewed`.
    func separateSuspect(before renewed: Instant, _ lastReply: Instant?) {
        // Otherwise, the old connection is slow, but not silent.
        guard !transfers.isHTTP1, renewals.repliedAt == lastReply else { return }
        let sent = shared.values.compactMap { request in
            request.start < renewed ? request.handle.sentAt.map { (request, $0) } : nil
        }.sorted { $0.1 < $1.1 }
        // Queries that were sent long before the last reply are for slow names.
        let last = lastReply ?? Instant(nanoseconds: 0)
        guard let first = (sent.first { $0.1 > last } ?? sent.last)?.1 else { return }
        let start = min(first, lastReply.map { $0 - UpstreamLimits.silentWait } ?? first)
        let end = first + UpstreamLimits.grain
        let now = clocks.now()
        // If many queries were sent at the same time, the oldest are the most likely cause, because
        // they were also unanswered on earlier connections that became silent.
        let chosen = sent.filter { $0.1 >= start && $0.1 <= end }
            .sorted { $0.0.start < $1.0.start }.prefix(UpstreamLimits.suspectsOfSilence)
        for (request, _) in chosen {
            separate.questions.add(request.attempt.query.question, at: now)
        }
        for request in shared.values
        where separate.questions.contains(request.attempt.query.question, at: now) {
            shared[ObjectIdentifier(request.attempt)]?.isMoved = true
            request.handle.cancel()
        }
    }
}
