// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Networks without IPv6: no name has an IPv6 address.
///
/// Said at once and without a call.  It is NODATA, as the name may well exist.  What is written down
/// in hosts, and `localhost`, is this machine's own and keeps its addresses.
enum Suppressing {
    /// The answer to a question for an IPv6 address; nil to all others.
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
