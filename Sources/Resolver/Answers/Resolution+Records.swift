// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire

extension Resolution {
    /// Creates NODATA with a synthetic SOA of `zone` (RFC 2308 §2.2).
    static func noData(
        _ question: Question,
        zone: Name,
        seconds: UInt32,
        variant: AnswerVariant = .any,
        explanation: Explanation? = nil,
        provenance: Provenance
    ) -> Resolution {
        // Cannot fail, because one small record fits into a message.
        (try? Resolution(
            question,
            authorities: [.syntheticSOA(zone, seconds: seconds)],
            lifetime: seconds,
            variant: variant,
            explanation: explanation,
            provenance: provenance
        ))
            ?? Resolution(rcode: .servFail, provenance: provenance)
    }

    package func answers(to question: Question) -> [Record] {
        sections.message(to: question)?.answers ?? []
    }

    /// Returns a copy with these records and without AD.
    ///
    /// Returns nil if the records do not fit into a message.
    func replacing(
        answers: [Record],
        of question: Question,
        authorities: [Record]
    ) -> Resolution? {
        var copy = try? Resolution(
            question,
            rcode: rcode,
            answers: answers,
            authorities: authorities,
            lifetime: lifetime,
            variant: variant,
            explanation: explanation,
            provenance: provenance
        )
        copy?.isSubstitute = isSubstitute
        return copy
    }
}

extension RecordData {
    init(_ address: IPAddress) {
        switch address {
        case .v4(let address): self = .a(address)
        case .v6(let address): self = .aaaa(address)
        }
    }
}
