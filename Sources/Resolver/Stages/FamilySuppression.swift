// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// NODATA for a suppressed address family (`a: suppress`, `aaaa: suppress`).
///
/// Not NXDOMAIN, because the name may exist.
enum FamilySuppression {
    static func answer(
        _ question: Question,
        _ match: RouteTable.Match?,
        _ policy: TTLPolicy
    ) -> Resolution {
        .noData(
            question,
            zone: match?.domain ?? question.name,
            seconds: policy.negative.upperBound,
            explanation: Explanation(
                code: .synthesized,
                text: "this server suppresses \(question.type) records"
            ),
            provenance: .local
        )
    }
}
