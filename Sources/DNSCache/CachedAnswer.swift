// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// An answer on its way into the cache.
package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    /// The records, encoded to be pasted behind any spelling of the question.
    package var sections: AnswerSections

    /// Seconds for which it may be answered: no more than its lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    /// The vendor or upstream it came from, by a number that the resolver gave out.
    package var server: UInt16

    /// Whether all its records were validated by somebody who is believed (RFC 4035 §3.2.3): AD.
    package var isAuthentic = false

    /// Seconds after its lifetime in which it may be given as a stale answer (RFC 8767).
    ///
    /// 0 is never; and a failure is never given so, whatever this says.
    package var staleWindow: UInt32

    /// Seconds after which a hit asks for a refresh, if it is not the first; 0 for never.
    package var refreshAfter: UInt32

    /// Encoded EDNS options for clients that speak EDNS, such as why there is no answer (RFC 8914);
    /// more than 255 octets are not kept.
    package var options: [UInt8]

    /// Puts the parts together.
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

    /// Whether it only says that no answer was to be had.
    var isFailure: Bool { rcode != .noError && rcode != .nxDomain }
}

/// An answer that may still be given.
package struct FreshAnswer: Sendable {
    /// The answer, with TTLs as they are to be sent, and the lifetime that is left of it.
    package var answer: CachedAnswer

    /// Seconds since it was stored.
    package var age: UInt32
}

/// The last good answer to a question, for when there is no better one (RFC 8767).
package struct StaleAnswer: Sendable {
    /// The answer, with TTLs as they are to be sent and a lifetime of 0, so that nobody stores it.
    package var answer: CachedAnswer

    /// Seconds since it was stored.
    package var age: UInt64

    /// Seconds since its time ended; nil if it is fresh after all.
    package var expiredFor: UInt64?

    /// Whether a failure for the same question is still remembered: no use in asking again yet.
    package var isHeld: Bool
}

/// For which clients an answer is right.
package struct AnswerVariant: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// For all: the answer does not depend on what the client said of DNSSEC.
    package static let any = AnswerVariant(rawValue: 0xFF)

    /// For clients that said the same of DNSSEC: signatures come only with DO (RFC 4035 §3.2.1) and
    /// an upstream that validates answers otherwise with CD (RFC 4035 §3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    /// Whether an answer of this variant suits a client of `other`.
    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

/// Where an answer came from.
package enum AnswerSource: UInt8, Sendable, CaseIterable {
    /// An HTTPDNS vendor.
    case vendor

    /// An upstream resolver.
    case upstream

    /// This daemon itself: special-use names and settings.
    case local
}

/// An entry as the control verbs show it; a copy, so it says nothing of what happens next.
package struct CacheEntry: Sendable, Equatable {
    package var name: Name
    package var type: RecordType
    package var variant: AnswerVariant
    package var rcode: RCode
    package var source: AnswerSource
    package var server: UInt16

    /// Seconds since it was stored.
    package var age: UInt64

    /// Seconds for which it may still be answered; 0 if it may not.
    package var remaining: UInt64

    /// Seconds for which it may be given as a stale answer, from the end of `remaining` on.
    package var staleRemaining: UInt64

    /// Seconds until a hit requests a refresh; nil if none will.
    package var refreshIn: UInt64?

    /// Answers made from it; each new answer halves what those before it had.
    package var hits: UInt32

    /// Whether it says that the name or type does not exist (RFC 2308).
    package var isNegative: Bool

    /// Whether its records were validated: AD.
    package var isAuthentic: Bool

    /// The reply that a client without EDNS would get, whole.
    package var message: [UInt8]
}

/// What the cache says of itself.
package struct CacheNumbers: Sendable, Equatable {
    package var entries: UInt64 = 0
    package var negativeEntries: UInt64 = 0

    /// Octets of live entries.
    package var octets: UInt64 = 0

    /// Octets of the index.
    package var indexOctets: UInt64 = 0

    /// The bound on entries and index together.
    package var limitOctets: UInt64 = 0
    package var insertions: UInt64 = 0

    /// Entries given up for room while they were fresh.
    package var evictions: UInt64 = 0

    /// Entries given up for room or replaced when their time had passed.
    package var expired: UInt64 = 0

    /// Entries whose time was ended by hand, such as when the network changed.
    package var markedStale: UInt64 = 0
}
