// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// An answer to store.
package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    /// Valid after the question in any letter case.
    package var sections: AnswerSections

    /// Seconds, at most the lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    /// Of the vendor or upstream.
    package var server: UInt16

    /// AD: a trusted source validated all records (RFC 4035 §3.2.3).
    package var isAuthentic = false

    /// Seconds of stale use (RFC 8767); failures are never stale.
    package var staleWindow: UInt32

    /// Age in seconds at which a hit requests a refresh; 0 for never.
    package var refreshAfter: UInt32

    /// EDNS options (RFC 8914); dropped if longer than 255 octets.
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

    /// Clients with these bits of RFC 4035: DO (§3.2.1) and CD (§3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

package enum AnswerSource: UInt8, Sendable, CaseIterable {
    case vendor

    case upstream

    /// Special-use names and settings.
    case local
}

/// Copy for the control verbs.
package struct CacheEntry: Sendable, Equatable {
    package var name: Name
    package var type: RecordType
    package var variant: AnswerVariant
    package var rcode: RCode
    package var source: AnswerSource
    package var server: UInt16

    /// Seconds.
    package var age: UInt64

    /// In seconds.
    package var remaining: UInt64

    /// In seconds.
    package var staleRemaining: UInt64

    /// In seconds; nil if no hit will request a refresh.
    package var refreshIn: UInt64?

    /// Includes half of the hits of replaced entries.
    package var hits: UInt32

    /// RFC 2308.
    package var isNegative: Bool

    package var isAuthentic: Bool

    /// For a client without EDNS.
    package var message: [UInt8]
}

package struct CacheNumbers: Sendable, Equatable {
    package var entries: UInt64 = 0
    package var negativeEntries: UInt64 = 0

    /// Of live entries.
    package var octets: UInt64 = 0

    package var indexOctets: UInt64 = 0

    /// Of entries and index.
    package var limitOctets: UInt64 = 0
    package var insertions: UInt64 = 0

    /// Of fresh entries only.
    package var evictions: UInt64 = 0

    /// Expired entries that were evicted or replaced.
    package var expired: UInt64 = 0

    /// Expired early.
    package var markedStale: UInt64 = 0
}
