// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Check of the connections to a server over HTTPS with several queries of the daemon.
///
/// If a query gets an unusable reply, a connection leads to a faulty host. If only a part of the
/// queries gets replies, a connection loses queries. If no query gets a reply, the server or the
/// connection is slow or silent.
@ServiceLoop
struct ConnectionCheck {
    /// The requests of the current check, in the order of their numbers.
    var requests: [any RequestHandle] = []

    private var number = 0
    private var (answered, lost) = (0, 0)

    /// Earliest time of the next check.
    private var next: Instant?

    private var replacements = ReplacementSpacing()

    /// Begins a check; returns its number, or nil if it is too early for another check.
    mutating func begin(at now: Instant) -> Int? {
        if let next, now < next { return nil }
        number += 1
        (requests, answered, lost) = ([], 0, 0)
        next = now + UpstreamLimits.lossCheckSpacing
        return number
    }

    /// Records the end of a request; returns true if the connections must be replaced.
    ///
    /// Only requests that were sent and got no reply count as lost.
    ///
    /// - Parameter isUsable: true for a reply with an answer.
    mutating func ended(
        _ index: Int,
        _ result: Result<HTTPReply, HTTPError>,
        isUsable: Bool,
        of number: Int,
        at now: Instant
    ) -> Bool {
        guard number == self.number, requests.indices.contains(index) else { return false }
        switch result {
        case .success where isUsable: answered += 1
        case .success: return fail(at: now)
        case .failure(.timedOut) where requests[index].wasSent: lost += 1
        case .failure: return false
        }
        guard answered + lost == UpstreamLimits.lossCheckQueries else { return false }
        if answered > 0, lost > 0 { return fail(at: now) }
        if lost == 0 { replacements.answered() }
        return false
    }

    /// Ends the check, so that it reports one faulty connection only.
    private mutating func fail(at now: Instant) -> Bool {
        number += 1
        // After a replacement, the new connection can be checked immediately.
        next = replacements.refusal(at: now)
        return next == nil
    }
}

/// Decides when a repeated query needs a new connection although the daemon's own queries get
/// replies.
///
/// A host of a pool can have lost its upstreams, and answer only names in its cache.
struct Renewals {
    /// Time of the latest reply to any query.
    var repliedAt: Instant?

    /// Time of the latest usable reply to a query of a client.
    private var answeredAt: Instant?

    private var next: Instant?

    /// Doubles with each new connection, because clients can query names that get no answer.
    private var spacing = UpstreamLimits.lossCheckSpacing

    /// Returns true if only queries of the daemon got usable replies since the time `earlier`.
    mutating func begin(repeating earlier: Instant, at now: Instant) -> Bool {
        guard let repliedAt, repliedAt > earlier, (answeredAt ?? earlier) <= earlier,
            next.map({ now >= $0 }) ?? true
        else { return false }
        next = now + spacing
        spacing = min(spacing * 2, UpstreamLimits.longestRest)
        return true
    }

    mutating func answered(at now: Instant) {
        (answeredAt, spacing) = (now, UpstreamLimits.lossCheckSpacing)
    }
}

extension Result<UpstreamReply, UpstreamError> {
    /// True if the reply shows that the server works: an answer, or a rate limit.
    var isUsable: Bool {
        switch self {
        case .success(let reply):
            reply.rcode == .noError || reply.rcode == .nxDomain || reply.rcode == .yxDomain
        case .failure(let error): error == .rateLimited
        }
    }
}
