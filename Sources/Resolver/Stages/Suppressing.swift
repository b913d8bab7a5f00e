// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// The stage of networks without IPv6: no name has an IPv6 address.
///
/// Said at once and without a call.  It is NODATA, as the name may well exist.  What is written down
/// in hosts, and `localhost`, is this machine's own and keeps its addresses.
final class Suppressing: Resolving {
    private let policy: TTLPolicy
    private let next: any Resolving

    /// Puts this stage before `next`.
    init(policy: TTLPolicy, next: any Resolving) {
        self.policy = policy
        self.next = next
    }

    func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        guard query.question.type == .aaaa else {
            return await next.resolve(query, match, deadline: deadline)
        }
        return Finding(
            .noData(
                query.question,
                zone: match?.domain ?? query.question.name,
                seconds: policy.negative.upperBound,
                explanation: Explanation(code: .synthesized, text: "AAAA is suppressed here"),
                provenance: .local
            )
        )
    }
}
