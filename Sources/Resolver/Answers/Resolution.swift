// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import Net

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

    /// What is said when too many are waiting already; not remembered.
    package static let overloaded = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .other, text: "too many queries wait"),
        provenance: .local
    )

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

    /// This daemon itself.
    static let local = Provenance(source: .local, origin: Origins.itself)

    /// What this daemon remembers of a vendor.
    static let vendor = Provenance(source: .vendor, origin: Origins.itself)

    init(source: AnswerSource, origin: UInt16) {
        self.source = source
        self.origin = origin
    }
}

/// The names of all vendors' servers and upstreams, each with a number that fits a cache entry.
///
/// Numbers are never reused, so that an entry keeps saying where it came from.  An upstream has one
/// more for each vendor whose silence it makes up for: what its cached answer spares is that
/// vendor's next call.
@ServiceLoop
package final class Origins {
    /// The number of this daemon itself.
    package nonisolated static let itself: UInt16 = 0

    /// Who answered, and who had been asked for it at a price.
    private struct Origin: Hashable {
        let name: String
        let vendor: String?
    }

    private var origins = [Origin(name: "httpdnsd", vendor: nil)]
    private var numbers: [Origin: UInt16] = [:]

    package init() {}

    /// The number of `name`, which is new or known; `itself` when 65,535 have been given out.
    ///
    /// - Parameter vendor: the vendor it is, or that was asked before it and had nothing.
    func number(_ name: String, vendor: String? = nil) -> UInt16 {
        let origin = Origin(name: name, vendor: vendor)
        if let known = numbers[origin] { return known }
        guard let new = UInt16(exactly: origins.count) else { return Self.itself }
        origins.append(origin)
        numbers[origin] = new
        return new
    }

    /// The number of whoever has `number`, answering after `vendor` had nothing.
    func number(_ number: UInt16, after vendor: String) -> UInt16 {
        self.number(name(number), vendor: vendor)
    }

    /// The name behind a number.
    package func name(_ number: UInt16) -> String {
        origins.indices.contains(Int(number)) ? origins[Int(number)].name : "?"
    }

    /// The vendor that would be asked if there were no such answer; nil if none would.
    package func vendor(_ number: UInt16) -> String? {
        origins.indices.contains(Int(number)) ? origins[Int(number)].vendor : nil
    }
}
