// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    package var sections: AnswerSections

    /// Seconds for which the answer is fresh, at most the lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    package var server: UInt16

    /// True if a trusted source validated all records (RFC 4035 §3.2.3).
    package var isAuthentic = false

    /// Seconds for which the answer is stale (RFC 8767); ignored for failures.
    package var staleWindow: UInt32

    /// Refresh age in seconds; 0 for no refresh.
    package var refreshAfter: UInt32

    /// Extended DNS errors as EDNS options (RFC 8914); above 255 octets, they are not stored.
    package var options: [UInt8]

    package init(
        question: Question,
        variant: AnswerVariant,
        rcode: RCode,
        sections: AnswerSections,
        lifetime: UInt32,
        source: AnswerSource,
        server: UInt16,
        staleWindow: UInt32 = 0,
        refreshAfter: UInt32 = 0,
        options: [UInt8] = []
    ) {
        self.question = question
        self.variant = variant
        self.rcode = rcode
        self.sections = sections
        self.lifetime = lifetime
        self.source = source
        self.server = server
        self.staleWindow = staleWindow
        self.refreshAfter = refreshAfter
        self.options = options
    }

    var isFailure: Bool { rcode != .noError && rcode != .nxDomain }
}

package struct FreshAnswer: Sendable {
    package var answer: CachedAnswer

    package var age: UInt32
}

/// Newest NOERROR or NXDOMAIN answer (RFC 8767).
package struct StaleAnswer: Sendable {
    /// Answer with the TTLs for the client; its lifetime is 0, so that it is not cached again.
    package var answer: CachedAnswer

    package var age: UInt64

    /// Seconds; nil if the answer is fresh.
    package var expiredFor: UInt64?

    /// True while the cache has a failure for the query; meanwhile, there is no new resolution.
    package var isHeld: Bool
}

/// Queries for which an answer is valid: all, or only those with certain DO and CD bits.
package struct AnswerVariant: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let any = AnswerVariant(rawValue: 0xFF)

    /// Creates the variant for queries with these DO and CD bits (RFC 4035 §3.2.1, §3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

package enum AnswerSource: UInt8, Sendable, CaseIterable {
    case vendor

    case upstream

    case local
}

/// Copy of an entry for control calls.
package struct CacheEntry: Sendable, Equatable {
    package var name: Name
    package var type: RecordType
    package var variant: AnswerVariant
    package var rcode: RCode
    package var source: AnswerSource
    package var server: UInt16

    /// In seconds.
    package var age: UInt64

    /// In seconds.
    package var remaining: UInt64

    /// In seconds.
    package var staleRemaining: UInt64

    /// Seconds until a hit requests a refresh; nil if no hit will request it.
    package var refreshIn: UInt64?

    /// Includes half of the `hits` of each replaced entry.
    package var hits: UInt32

    /// NXDOMAIN or NODATA (RFC 2308).
    package var isNegative: Bool

    package var isAuthentic: Bool

    package var sections: AnswerSections

    package var message: Message? { sections.message(to: Question(name: name, type: type)) }
}

package struct CacheNumbers: Sendable, Equatable {
    package var entries: UInt64 = 0
    package var negativeEntries: UInt64 = 0

    package var octets: UInt64 = 0

    package var indexOctets: UInt64 = 0

    package var limitOctets: UInt64 = 0
    package var insertions: UInt64 = 0

    package var evictions: UInt64 = 0

    package var expired: UInt64 = 0

    package var markedStale: UInt64 = 0
}
