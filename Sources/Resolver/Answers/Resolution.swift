// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire

/// An answer and where it came from.
package struct Resolution: Sendable {
    package var rcode: RCode

    /// The records, encoded behind the question that they answer.
    package var sections: AnswerSections

    /// Seconds for which it may be cached; 0 keeps it out of the cache.
    package var lifetime: UInt32

    /// For which other clients it is right too.
    package var variant: AnswerVariant

    /// What a client that speaks EDNS is told besides.
    package var explanation: Explanation?

    package var provenance: Provenance

    /// Whether all of it was validated by an upstream that is believed: AD (RFC 4035 §3.2.3).
    ///
    /// Never so where it is made; it is said of what an upstream's reply becomes, and of what the
    /// cache kept of that.
    package var isAuthentic = false

    /// Whether the query was refused because its client has more than its share under way.
    package private(set) var isRefused = false

    /// An answer with these records, TTLs as they are to be sent.
    init(
        _ question: Question,
        rcode: RCode = .noError,
        answers: [Record] = [],
        authorities: [Record] = [],
        lifetime: UInt32,
        variant: AnswerVariant = .any,
        explanation: Explanation? = nil,
        provenance: Provenance
    ) throws(BuildError) {
        self.rcode = rcode
        sections = try AnswerSections(
            question: question,
            answers: answers,
            authorities: authorities,
            additionals: []
        )
        self.lifetime = lifetime
        self.variant = variant
        self.explanation = explanation
        self.provenance = provenance
    }

    /// An answer of addresses of the name itself, each with this TTL.
    init(
        _ question: Question,
        addresses: [IPAddress],
        ttl: UInt32,
        provenance: Provenance
    ) throws(BuildError) {
        rcode = .noError
        sections = try AnswerSections(addresses: addresses, of: question, ttl: ttl)
        lifetime = ttl
        variant = .any
        self.provenance = provenance
    }

    /// An answer that says no more than its RCODE.
    init(
        rcode: RCode,
        lifetime: UInt32 = 0,
        variant: AnswerVariant = .any,
        explanation: Explanation? = nil,
        provenance: Provenance
    ) {
        self.rcode = rcode
        sections = .empty
        self.lifetime = lifetime
        self.variant = variant
        self.explanation = explanation
        self.provenance = provenance
    }

    /// The answer to a query that has lost its place to other queries; not cached.
    static let evicted = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .other, text: "too many queries wait"),
        provenance: .local
    )

    /// The answer to a query of a client that has more than its share under way; not cached.
    static let refused: Resolution = {
        var refused = evicted
        refused.isRefused = true
        return refused
    }()

    /// What is said of it in the header of a reply: AD or nothing.
    package var flags: UInt16 { isAuthentic ? HeaderFlags.authenticData : 0 }

    /// Whether nothing could be found out: no vendor and no upstream had an answer.
    package var isFailure: Bool { rcode == .servFail }
}

/// Why an answer is what it is, in the words of RFC 8914.
package struct Explanation: Sendable, Equatable {
    package var code: ExtendedError

    /// For people; names no address, no account and no secret.
    package var text: String

    /// The EDNS option that says so (RFC 8914 §2).
    package var option: [UInt8] {
        let text = Array(text.utf8)
        let numbers = [EDNSOption.Code.extendedError, UInt16(2 + text.count), code.rawValue]
        return numbers.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + text
    }
}

/// Where an answer came from and why from there.
package struct Provenance: Sendable, Equatable {
    package var source: AnswerSource

    /// The vendor or upstream, by its number in `Origins`.
    package var origin: UInt16

    /// Whether another client's wait brought the answer.
    package var wasMerged = false

    /// Whether it is an old answer, given because no better one was to be had (RFC 8767).
    package var isStale = false

    /// Why an upstream answered what is a vendor's to tell; nil if it is not so.
    package var fallback: Fallback?

    /// Why a vendor's names are asked of upstreams.
    package enum Fallback: UInt8, CaseIterable, Sendable {
        /// The vendor has no address, or does not know the name.
        case empty = 1

        /// No vendor gave an answer in time, or none may be asked now.
        case failed
    }

    /// This daemon itself.
    static let local = Provenance(source: .local, origin: Origins.itself)

    init(source: AnswerSource, origin: UInt16) {
        self.source = source
        self.origin = origin
    }
}
