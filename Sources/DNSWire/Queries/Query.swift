// SPDX-License-Identifier: Apache-2.0

/// Parts of a client's query that determine the answer; the key of single-flight.
package struct Query: Hashable, Sendable {
    package var question: Question

    /// DO: the client wants DNSSEC records (RFC 3225).
    package var dnssecOK: Bool

    /// CD: the client validates signatures (RFC 4035 §3.2.2).
    package var checkingDisabled: Bool

    package init(question: Question, dnssecOK: Bool = false, checkingDisabled: Bool = false) {
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
    }
}

extension Query {
    package init(_ facts: QueryFacts, in octets: RawSpan) {
        let wire = [UInt8](QueryView(facts, in: octets).name)
        self.init(
            question: Question(
                name: Name(checked: wire),
                type: facts.type,
                recordClass: facts.recordClass
            ),
            dnssecOK: facts.dnssecOK,
            checkingDisabled: facts.checkingDisabled
        )
    }
}
