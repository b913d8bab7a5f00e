// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire

/// Answer with its cache lifetime and its source.
package struct Resolution: Sendable {
    package var rcode: RCode

    /// Records of the sections after the question section, in wire form.
    package var sections: AnswerSections

    /// Seconds for which the answer can be cached; 0 if it must not be cached.
    package var lifetime: UInt32

    package var variant: AnswerVariant

    package var explanation: Explanation?

    package var provenance: Provenance

    /// AD flag: true if a trusted upstream validated all records (RFC 4035 §3.2.3).
    package var isAuthentic = false

    /// True if the query was not accepted because of a limit of its client.
    package private(set) var isRefused = false

    /// True if a limit of the client prevented the answer.
    package private(set) var isLimited = false

    /// True if a limit prevented the answer, but a proven client can get an answer.
    package var isCrowded = false

    /// True if queries of the client itself used up the limit that `isCrowded` reports.
    var isClientCrowded = false

    /// True if an upstream failed, and the query was repeated less often than usual, because its
    /// client had a high load.
    var lacksRepetition = false

    var isUnanswered = false

    /// True for an answer of a fallback or of an unprotected source, cached only for a short time.
    var isSubstitute = false

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

    /// SERVFAIL after a newer query evicted the query; not cached.
    static let evicted: Resolution = {
        var evicted = Resolution(
            rcode: .servFail,
            explanation: Explanation(code: .other, text: "too many pending queries"),
            provenance: .local
        )
        evicted.isLimited = true
        return evicted
    }()

    /// SERVFAIL after the client's deadline; not cached.
    static let late = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .noReachableAuthority, text: "no answer in time"),
        provenance: .local
    )

    static let refused: Resolution = {
        var refused = evicted
        refused.isRefused = true
        return refused
    }()

    package var flags: UInt16 { isAuthentic ? HeaderFlags.authenticData : 0 }

    package var isFailure: Bool { rcode == .servFail }
}

/// Extended DNS error (RFC 8914).
package struct Explanation: Sendable, Equatable {
    package var code: ExtendedError

    /// Text for users, without addresses, accounts or secrets.
    package var text: String

    /// Encoded EDNS option (RFC 8914 §2).
    package var option: [UInt8] {
        let text = Array(text.utf8)
        let numbers = [EDNSOption.Code.extendedError, UInt16(2 + text.count), code.rawValue]
        return numbers.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + text
    }
}

/// Source of an answer, and the reason why this source answered.
package struct Provenance: Sendable, Equatable {
    package var source: AnswerSource

    package var origin: UInt16

    /// True if the client got the result of an equal query of another client.
    package var wasMerged = false

    package var isStale = false

    package var isShared = false

    package var fallback: Fallback?

    package enum Fallback: UInt8, CaseIterable, Sendable {
        /// The vendors replied, but none has an address of the name.
        case empty = 1

        /// No vendor answered in time, or no vendor could be called.
        case failed

        /// No vendor had answered within `fallback-after`.
        case early
    }

    static let local = Provenance(source: .local, origin: AnswerSourceRegistry.itself)

    package init(source: AnswerSource, origin: UInt16) {
        self.source = source
        self.origin = origin
    }
}
