// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Answers that the settings determine: never requested from a source, and never in the cache.
///
/// Workers answer from the cache before the resolver sees a query.  Therefore the cache must not
/// contain a contradicting answer: not a sibling of a vendor's reply, not a result that was in
/// flight when the hosts changed, and not an entry of a loaded snapshot.
@ServiceLoop
final class LocalAnswers {
    var hosts = HostsTable()

    /// Types whose queries are answered NODATA.
    let suppressed: Set<RecordType>

    init(suppressed: Set<RecordType>) {
        self.suppressed = suppressed
    }

    /// True if the settings determine the answer to `question`.
    func cover(_ question: Question) -> Bool {
        suppressed.contains(question.type) || hosts.covers(question)
    }

    /// Removes from a result the answers that the settings now determine.
    func guardCache(against finding: inout ResolvedAnswer, _ query: Query) {
        if !finding.siblings.isEmpty { finding.siblings.removeAll { cover($0.question) } }
        if cover(query.question) {
            // The hosts have changed while the query was in flight.
            finding.resolution.lifetime = 0
        }
        if finding.resolution.rcode == .nxDomain, hosts.contains(query.question.name) {
            // The hosts have addresses for the name.  A client that caches NXDOMAIN would not query
            // the addresses (RFC 8020 §2).
            finding.resolution.rcode = .noError
            finding.resolution.isAuthentic = false
        }
    }
}
