// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// AAAA suppression for networks without IPv6 (`aaaa: suppress`).
///
/// The answer is NODATA, because the name may exist. Static hosts and `localhost` keep their IPv6
/// addresses.
enum AAAASuppression {
    /// Returns NODATA for an AAAA query; nil for other types.
    static func answer(
        _ question: Question,
        _ match: RouteTable.Match?,
        _ policy: TTLPolicy
    ) -> Resolution? {
        guard question.type == .aaaa else { return nil }
        return .noData(
            question,
            zone: match?.domain ?? question.name,
            seconds: policy.negative.upperBound,
            explanation: Explanation(code: .synthesized, text: "AAAA is suppressed here"),
            provenance: .local
        )
    }
}
