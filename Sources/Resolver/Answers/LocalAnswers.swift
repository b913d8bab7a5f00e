// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Answers from static hosts and settings; no source is queried for them, and they are not cached.
///
/// No cache entry may contradict these answers, because workers answer from the cache without the
/// resolver.
@ServiceLoop
final class LocalAnswers {
    var hosts = HostsTable() {
        didSet { lengths = hosts.lengths }
    }

    /// Copy of `hosts.lengths`.
    ///
    /// A check of this variable needs no access to `hosts`. Swift 6.3 would copy `hosts` at each
    /// access, because it copies a stored struct before it calls a nonmutating method.
    private var lengths: UInt64 = 0

    let suppressed: Set<RecordType>

    init(suppressed: Set<RecordType>) {
        self.suppressed = suppressed
    }

    func mayChange(_ finding: ResolvedAnswer, _ query: Query) -> Bool {
        !finding.siblings.isEmpty || finding.resolution.rcode == .nxDomain
            || cover(query.question)
    }

    func cover(_ question: Question) -> Bool {
        suppressed.contains(question.type)
            || mayBeStatic(question.name) && hosts.covers(question)
    }

    /// False if no name in `hosts` has the length of `name`.
    func mayBeStatic(_ name: Name) -> Bool { lengths & HostsTable.bit(of: name) != 0 }

    /// Prevents the caching of results that contradict the static hosts or `suppressed`.
    func guardCache(against finding: inout ResolvedAnswer, _ query: Query) {
        if !finding.siblings.isEmpty { finding.siblings.removeAll { cover($0.question) } }
        if cover(query.question) {
            // The static hosts changed while the query was in flight.
            finding.resolution.lifetime = 0
        }
        if finding.resolution.rcode == .nxDomain, hosts.contains(query.question.name) {
            // After an NXDOMAIN for another type, a client would not query the addresses of this
            // static host (RFC 8020 §2).
            finding.resolution.rcode = .noError
            finding.resolution.isAuthentic = false
        }
    }
}
