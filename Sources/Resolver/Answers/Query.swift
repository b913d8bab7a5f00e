// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire

/// The parts of a client's query that determine its answer; the key of query deduplication.
///
/// Names are compared without case.
package struct Query: Hashable, Sendable {
    package var question: Question

    /// DO: the client wants DNSSEC records (RFC 3225).
    package var dnssecOK: Bool

    /// CD: the client validates signatures itself (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool

    /// Creates a query.
    package init(question: Question, dnssecOK: Bool = false, checkingDisabled: Bool = false) {
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
    }

    /// The variant of cached answers that fits the query.
    var variant: AnswerVariant {
        AnswerVariant(dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
    }

    /// True for A and AAAA, the types that vendors resolve.
    var asksForAddress: Bool { question.type == .a || question.type == .aaaa }
}
