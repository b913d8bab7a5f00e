// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire

/// What a client asks, without anything that does not change the answer.
///
/// Equal queries, whatever the case of their letters, have equal answers: it is the key under which
/// waiting clients are merged.
package struct Query: Hashable, Sendable {
    package var question: Question

    /// Whether the client wants DNSSEC records (RFC 3225).
    package var dnssecOK: Bool

    /// Whether the client checks signatures itself (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool

    /// Puts the parts together.
    package init(question: Question, dnssecOK: Bool = false, checkingDisabled: Bool = false) {
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
    }

    /// Which cached answers are right for it.
    var variant: AnswerVariant {
        AnswerVariant(dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// Whether it asks for addresses, which is all that a vendor knows.
    var asksForAddress: Bool { question.type == .a || question.type == .aaaa }
}
