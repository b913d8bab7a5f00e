// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// The stage that keeps out of the cache what the settings answer.
///
/// It stands behind the one that fills the cache: see `Overrides` for what comes this far all the
/// same.
final class Overriding: Resolving {
    private let overrides: Overrides
    private let next: any Resolving

    /// Puts this stage before `next`.
    init(_ overrides: Overrides, next: any Resolving) {
        self.overrides = overrides
        self.next = next
    }

    func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        var finding = await next.resolve(query, match, deadline: deadline)
        finding.siblings.removeAll { overrides.cover($0.question) }
        if overrides.cover(query.question) {
            // The hosts have changed meanwhile.
            finding.resolution.lifetime = 0
        }
        if finding.resolution.rcode == .nxDomain, overrides.hosts.contains(query.question.name) {
            // There is such a name: here.  A client that believed otherwise would no longer ask for
            // its addresses (RFC 8020 §2).
            finding.resolution.rcode = .noError
            finding.resolution.isAuthentic = false
        }
        return finding
    }
}
