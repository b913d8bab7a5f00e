// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Check of the connections to a server over HTTPS with several queries of the daemon.
///
/// If only a part of the queries gets replies, a connection loses queries. If no query gets a reply,
/// the server or the connection is slow or silent.
@ServiceLoop
struct LossCheck {
    /// The requests of the current check, in the order of their numbers.
    var requests: [any RequestHandle] = []

    private var number = 0
    private var began: Instant?
    private var (answered, lost) = (0, 0)

    /// Doubles with each lossy connection, because the server itself can drop queries.
    private var spacing = UpstreamLimits.lossCheckSpacing

    /// Begins a check; returns its number, or nil if it is too early for another check.
    mutating func begin(at now: Instant) -> Int? {
        if let began, now - began < max(spacing, UpstreamLimits.silence) { return nil }
        number += 1
        (began, requests, answered, lost) = (now, [], 0, 0)
        return number
    }

    /// Records the end of a request; returns true if a connection loses queries.
    ///
    /// Only requests that were sent and got no reply count as lost.
    mutating func ended(
        _ index: Int,
        _ result: Result<HTTPReply, HTTPError>,
        of number: Int
    ) -> Bool {
        guard number == self.number, requests.indices.contains(index) else { return false }
        switch result {
        case .success: answered += 1
        case .failure(.timedOut) where requests[index].wasSent: lost += 1
        case .failure: return false
        }
        guard answered + lost == UpstreamLimits.lossCheckQueries else { return false }
        guard answered > 0, lost > 0 else {
            if lost == 0 { spacing = UpstreamLimits.lossCheckSpacing }
            return false
        }
        spacing = min(spacing * 2, UpstreamLimits.longestRest)
        return true
    }
}
