// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// An answer to store.
package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    /// Records, valid after the question in any letter case.
    package var sections: AnswerSections

    /// Seconds, at most the lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    /// Number of the vendor or upstream.
    package var server: UInt16

    /// AD: a trusted source validated all records (RFC 4035 §3.2.3).
    package var isAuthentic = false

    /// Seconds of stale use after the lifetime (RFC 8767); failures are never stale.
    package var staleWindow: UInt32

    /// Age in seconds at which a hit requests a refresh; 0 for never.
    package var refreshAfter: UInt32

    /// Encoded EDNS options (RFC 8914); dropped if longer than 255 octets.
    package var options: [UInt8]

    /// Creates an answer.
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

/// A fresh answer.
package struct FreshAnswer: Sendable {
    /// With the TTLs to send and the remaining lifetime.
    package var answer: CachedAnswer

    /// Seconds.
    package var age: UInt32
}

/// The newest good answer, for a failed resolution (RFC 8767).
package struct StaleAnswer: Sendable {
    /// With the TTLs to send; lifetime 0 prevents storing.
    package var answer: CachedAnswer

    /// Seconds.
    package var age: UInt64

    /// Seconds since expiry; nil if fresh.
    package var expiredFor: UInt64?

    /// True if a cached failure delays the next resolution.
    package var isHeld: Bool
}

/// Clients for which an answer is valid.
package struct AnswerVariant: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The answer does not depend on DO and CD.
    package static let any = AnswerVariant(rawValue: 0xFF)

    /// Clients with these bits: DO requests signatures (RFC 4035 §3.2.1), CD unvalidated answers
    /// (RFC 4035 §3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    /// Returns true if the answer is valid for a client of variant `other`.
    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

package enum AnswerSource: UInt8, Sendable, CaseIterable {
    case vendor

    case upstream

    /// Special-use names and settings.
    case local
}

/// Copy of an entry for the control verbs.
package struct CacheEntry: Sendable, Equatable {
    package var name: Name
    package var type: RecordType
    package var variant: AnswerVariant
    package var rcode: RCode
    package var source: AnswerSource
    package var server: UInt16

    /// Seconds.
    package var age: UInt64

    /// Lifetime left, in seconds.
    package var remaining: UInt64

    /// Stale use left, in seconds.
    package var staleRemaining: UInt64

    /// Seconds until a hit requests a refresh; nil if none will.
    package var refreshIn: UInt64?

    /// Hits of this entry, plus half of the hits of the entries that it replaced.
    package var hits: UInt32

    /// RFC 2308.
    package var isNegative: Bool

    /// AD.
    package var isAuthentic: Bool

    /// Reply to a client without EDNS.
    package var message: [UInt8]
}

package struct CacheNumbers: Sendable, Equatable {
    package var entries: UInt64 = 0
    package var negativeEntries: UInt64 = 0

    /// Live entries.
    package var octets: UInt64 = 0

    package var indexOctets: UInt64 = 0

    /// Entries and index.
    package var limitOctets: UInt64 = 0
    package var insertions: UInt64 = 0

    /// Fresh entries only.
    package var evictions: UInt64 = 0

    /// Expired entries that were evicted or replaced.
    package var expired: UInt64 = 0

    /// Entries expired early.
    package var markedStale: UInt64 = 0
}
