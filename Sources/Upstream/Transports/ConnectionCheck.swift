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

    /// Records the end of a request; returns a fault if the connections must be replaced.
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
    ) -> PipelinedConnection.Fault? {
        guard number == self.number, requests.indices.contains(index) else { return nil }
        switch result {
        case .success where isUsable: answered += 1
        case .success, .failure(.bodyTooLarge), .failure(.broken): return end(.errors, at: now)
        case .failure(.timedOut) where requests[index].wasSent: lost += 1
        case .failure: return nil
        }
        guard answered + lost == UpstreamLimits.lossCheckQueries else { return nil }
        requests = []
        if answered > 0, lost > 0 { return end(.losses, at: now) }
        if lost == 0 { replacements.passed() }
        return nil
    }

    /// Ends the check, so that it reports one faulty connection only.
    private mutating func end(
        _ fault: PipelinedConnection.Fault,
        at now: Instant
    ) -> PipelinedConnection.Fault? {
        number += 1
        requests = []
        guard let earliest = replacements.begin(at: now) else {
            // The new connection can be checked immediately.
            next = nil
            return fault
        }
        next = min(earliest, next ?? earliest)
        return nil
    }
}
