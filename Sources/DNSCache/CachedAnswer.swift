// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// An answer to be stored in the cache.
package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    /// The encoded records, valid after the question in any letter case.
    package var sections: AnswerSections

    /// Lifetime in seconds, at most the lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    /// The server number of the vendor or upstream, assigned by the resolver.
    package var server: UInt16

    /// True if a trusted source validated all records (RFC 4035 §3.2.3): AD.
    package var isAuthentic = false

    /// Time in seconds after the lifetime in which the answer may be served stale (RFC 8767).
    ///
    /// 0 disables it. A failure is never served stale.
    package var staleWindow: UInt32

    /// Age in seconds after which a hit requests a refresh; 0 for never.
    package var refreshAfter: UInt32

    /// Encoded EDNS options for clients with EDNS, such as extended errors (RFC 8914); dropped if
    /// longer than 255 octets.
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

/// A fresh answer from the cache.
package struct FreshAnswer: Sendable {
    /// The answer with the TTLs to send and its remaining lifetime.
    package var answer: CachedAnswer

    /// Age in seconds.
    package var age: UInt32
}

/// The last good answer to a question, for use when resolving fails (RFC 8767).
package struct StaleAnswer: Sendable {
    /// The answer with the TTLs to send and lifetime 0, so that it is not stored again.
    package var answer: CachedAnswer

    /// Age in seconds.
    package var age: UInt64

    /// Seconds since the lifetime ended; nil if the answer is fresh.
    package var expiredFor: UInt64?

    /// True if a failure is cached for the question, so that resolving is not retried yet.
    package var isHeld: Bool
}

/// Set of clients for which an answer is valid.
package struct AnswerVariant: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// All clients: the answer does not depend on DO and CD.
    package static let any = AnswerVariant(rawValue: 0xFF)

    /// Clients with the same DO and CD bits: signatures are sent only with DO (RFC 4035 §3.2.1),
    /// and a validating upstream answers differently with CD (RFC 4035 §3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    /// Returns true if an answer of this variant is valid for a client of variant `other`.
    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

/// Kind of source of an answer.
package enum AnswerSource: UInt8, Sendable, CaseIterable {
    /// An HTTPDNS vendor.
    case vendor

    /// An upstream resolver.
    case upstream

    /// The daemon: special-use names and settings.
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

    /// Age in seconds.
    package var age: UInt64

    /// Remaining lifetime in seconds; 0 if expired.
    package var remaining: UInt64

    /// Seconds of stale use after the lifetime.
    package var staleRemaining: UInt64

    /// Seconds until a hit requests a refresh; nil if no hit will.
    package var refreshIn: UInt64?

    /// Number of hits; a replaced entry passes on half of its count.
    package var hits: UInt32

    /// True if the entry denies the name or type (RFC 2308).
    package var isNegative: Bool

    /// True if the records were validated: AD.
    package var isAuthentic: Bool

    /// The full reply to a client without EDNS.
    package var message: [UInt8]
}

/// Counts and sizes of the cache.
package struct CacheNumbers: Sendable, Equatable {
    package var entries: UInt64 = 0
    package var negativeEntries: UInt64 = 0

    /// Size of live entries in octets.
    package var octets: UInt64 = 0

    /// Size of the index in octets.
    package var indexOctets: UInt64 = 0

    /// Size limit of entries and index in octets.
    package var limitOctets: UInt64 = 0
    package var insertions: UInt64 = 0

    /// Evictions of fresh entries.
    package var evictions: UInt64 = 0

    /// Evictions and replacements of expired entries.
    package var expired: UInt64 = 0

    /// Entries expired early, for example after a network change.
    package var markedStale: UInt64 = 0
}
