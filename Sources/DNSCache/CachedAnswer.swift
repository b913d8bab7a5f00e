// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct CachedAnswer: Sendable {
    package var question: Question
    package var variant: AnswerVariant
    package var rcode: RCode

    /// Records that follow the question in a reply.
    ///
    /// The records are the same for each letter case of the question's name.
    package var sections: AnswerSections

    /// Seconds for which the answer is fresh, at most the lowest TTL.
    package var lifetime: UInt32

    package var source: AnswerSource

    /// Source number that identifies the vendor server or upstream that returned the answer.
    package var server: UInt16

    /// AD flag: a trusted source validated all records (RFC 4035 §3.2.3).
    package var isAuthentic = false

    /// Seconds after the lifetime in which the answer is stale (RFC 8767); ignored for failures.
    package var staleWindow: UInt32

    /// Refresh age in seconds: the first hit at this age or later requests a refresh; 0 for never.
    package var refreshAfter: UInt32

    /// Extended DNS errors as EDNS options (RFC 8914).
    ///
    /// If all options together exceed 255 octets, the cache stores the answer without options.
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

/// Newest NOERROR or NXDOMAIN answer.
///
/// A client gets this answer if the resolution fails (RFC 8767).
package struct StaleAnswer: Sendable {
    /// Answer with the TTLs for the client.
    ///
    /// Its lifetime is 0, so that the cache does not store this answer again.
    package var answer: CachedAnswer

    package var age: UInt64

    /// Seconds since the answer expired; nil if the answer is fresh.
    package var expiredFor: UInt64?

    /// True if the cache also has a failure; until this failure expires, there is no new
    /// resolution.
    package var isHeld: Bool
}

/// Queries for which an answer is valid: all queries, or only queries with certain DO and CD bits.
package struct AnswerVariant: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let any = AnswerVariant(rawValue: 0xFF)

    /// Creates the variant for queries with these bits of RFC 4035: DO (§3.2.1) and CD (§3.2.2).
    package init(dnssecOK: Bool, checkingDisabled: Bool) {
        rawValue = (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0)
    }

    func suits(_ other: AnswerVariant) -> Bool { self == other || self == .any }
}

package enum AnswerSource: UInt8, Sendable, CaseIterable {
    case vendor

    case upstream

    /// This daemon, for special names and for names in the settings.
    case local
}

/// Copy of an entry, for the verbs of the control socket.
package struct CacheEntry: Sendable, Equatable {
    package var name: Name
    package var type: RecordType
    package var variant: AnswerVariant
    package var rcode: RCode
    package var source: AnswerSource
    package var server: UInt16

    /// Age in seconds.
    package var age: UInt64

    /// Remaining lifetime in seconds.
    package var remaining: UInt64

    /// Remaining time in seconds in which the entry can be used as a stale answer.
    package var staleRemaining: UInt64

    /// Seconds until a hit requests a refresh; nil if no further hit requests a refresh.
    package var refreshIn: UInt64?

    /// Count of hits on this entry, plus half of the `hits` of the entries that this entry
    /// replaced.
    package var hits: UInt32

    /// True for NXDOMAIN and NODATA (RFC 2308).
    package var isNegative: Bool

    package var isAuthentic: Bool

    /// Records with their current TTLs.
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

    /// Entries that the daemon marked stale before their TTL ended.
    package var markedStale: UInt64 = 0
}
