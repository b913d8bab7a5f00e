// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net

/// Names for which vendors recently replied without an address.
struct EmptyReplies {
    private struct Reply {
        let source: Provenance
        let vendor: String

        var families: Families

        /// True if a limit prevented a call to an earlier vendor of the route; then a further query
        /// skips only `vendor`.
        let isAfterLimit: Bool
    }

    private var replies = RecentNames<Reply>(limit: 4_096)

    /// Returns the source of a recent empty reply; nil for none.
    ///
    /// Replies after a limit are not searched. Any other empty reply has the effect that no vendor
    /// is called.
    func source(_ question: Question, now: Instant) -> Provenance? {
        reply(question, now).flatMap { $0.isAfterLimit ? nil : $0.source }
    }

    /// Returns the source of a recent empty reply of `vendor`; nil for none.
    ///
    /// Only replies after a limit are searched. Such a reply has the effect that only `vendor` is
    /// skipped.
    func source(_ question: Question, of vendor: String, now: Instant) -> Provenance? {
        reply(question, now).flatMap { $0.isAfterLimit && $0.vendor == vendor ? $0.source : nil }
    }

    private func reply(_ question: Question, _ now: Instant) -> Reply? {
        guard let reply = replies.value(of: question.name, now: now),
            reply.families == .both || reply.families == question.families
        else { return nil }
        return reply
    }

    mutating func note(
        _ name: Name,
        _ families: Families,
        from source: Provenance,
        of vendor: String,
        isAfterLimit: Bool,
        now: Instant,
        until: Instant
    ) {
        var families = families
        if let known = replies.value(of: name, now: now), known.families != families,
            known.isAfterLimit == isAfterLimit, !isAfterLimit || known.vendor == vendor
        {
            families = .both
        }
        let reply = Reply(
            source: source,
            vendor: vendor,
            families: families,
            isAfterLimit: isAfterLimit
        )
        replies.insert(reply, of: name, until: until)
    }

    mutating func removeAll() { replies.removeAll() }
}
