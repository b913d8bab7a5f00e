// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Answers that the settings determine, which are never queried and never cached.
///
/// Workers answer from the cache before the resolver sees a query.  Therefore no entry may
/// contradict the settings: no sibling of a vendor's reply, no result that was in flight when the
/// hosts changed, and no entry of a loaded snapshot.
@ServiceLoop
final class LocalAnswers {
    var hosts = HostsTable()

    let suppressesAAAA: Bool

    init(suppressesAAAA: Bool) {
        self.suppressesAAAA = suppressesAAAA
    }

    /// True if the settings determine the answer to `question`.
    func cover(_ question: Question) -> Bool {
        suppressesAAAA && question.type == .aaaa || hosts.covers(question)
    }

    /// Removes the answers that the settings now determine from a result.
    func guardCache(against finding: inout ResolvedAnswer, _ query: Query) {
        if !finding.siblings.isEmpty { finding.siblings.removeAll { cover($0.question) } }
        if cover(query.question) {
            // The hosts changed while the query was in flight.
            finding.resolution.lifetime = 0
        }
        if finding.resolution.rcode == .nxDomain, hosts.contains(query.question.name) {
            // The hosts have addresses of the name.  After NXDOMAIN a client would not query them
            // (RFC 8020 §2).
            finding.resolution.rcode = .noError
            finding.resolution.isAuthentic = false
        }
    }
}
