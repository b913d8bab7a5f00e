// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// What the settings answer, whatever others say: it is asked of nobody and never in the cache.
///
/// Workers answer from the cache before any stage sees a query, so what must not be answered must not
/// be there: not what a vendor's call brought along, not what was asked before the hosts changed, not
/// what was kept in an earlier life.
@ServiceLoop
final class Overrides {
    /// The names that are written down.
    var hosts = HostsTable()

    /// Whether all names are without IPv6 addresses.
    let suppressesAAAA: Bool

    /// Overrides without hosts, yet.
    init(suppressesAAAA: Bool) {
        self.suppressesAAAA = suppressesAAAA
    }

    /// Whether the answer to `question` is the settings'.
    func cover(_ question: Question) -> Bool {
        suppressesAAAA && question.type == .aaaa || hosts.covers(question)
    }

    /// Keeps out of the cache what the settings answer: what came along with a call, and what was
    /// asked before the hosts changed.
    func guardCache(against finding: inout Finding, _ query: Query) {
        if !finding.siblings.isEmpty { finding.siblings.removeAll { cover($0.question) } }
        if cover(query.question) {
            // The hosts have changed meanwhile.
            finding.resolution.lifetime = 0
        }
        if finding.resolution.rcode == .nxDomain, hosts.contains(query.question.name) {
            // There is such a name: here.  A client that believed otherwise would no longer ask for
            // its addresses (RFC 8020 §2).
            finding.resolution.rcode = .noError
            finding.resolution.isAuthentic = false
        }
    }
}
