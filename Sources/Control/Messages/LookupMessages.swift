// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Lookup`.
package struct LookupRequest: CallParameters, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Only entries of this type, as a mnemonic or `TYPE65`; nil for all types.
    package var type: String?

    /// Creates the request.
    package init(name: String, type: String? = nil) {
        self.name = name
        self.type = type
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case name, type }
}

/// Reply to `Lookup`; never empty: without entries, the reply is the error `NotFound`.
package struct LookupReply: Codable, Sendable, Equatable {
    /// Entries in the order of their types.
    package var entries: [CachedEntry]

    /// Creates the reply.
    package init(entries: [CachedEntry]) { self.entries = entries }
}

/// One cache entry.
package struct CachedEntry: Codable, Sendable, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Type as a mnemonic or `TYPE65`.
    package var type: String

    /// Response code in lower case; `nodata` is NOERROR without records.
    package var rcode: String

    /// Name of the vendor or upstream that answered, or `local`.
    package var source: String

    /// Server that answered, such as `192.0.2.1:443` or `udp://192.0.2.53`; empty if none.
    package var server: String

    /// Vendor or upstream that answered, and its address or URL; nil for an answer of the daemon.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// True if the transport was encrypted and authenticated; nil unless an upstream answered.
    package var protected: Bool?

    /// True if a trusted upstream validated the answer (AD).
    package var validated: Bool

    /// Time since the answer was received.
    package var ageSeconds: Int

    /// Time until the entry is stale; 0 once it is.
    package var ttlSeconds: Int

    /// True if the TTL has expired.
    package var stale: Bool

    /// Number of queries that the entry answered.
    package var hits: UInt64

    /// Distinguishes entries for the same question, such as `do` for DNSSEC; often empty.
    package var variant: String

    /// Records in presentation form; empty in a negative entry.
    package var records: [String]

    /// Creates an entry from its parts.
    package init(
        name: String,
        type: String,
        rcode: String,
        source: String,
        server: String = "",
        protected: Bool? = nil,
        validated: Bool = false,
        ageSeconds: Int,
        ttlSeconds: Int,
        stale: Bool = false,
        hits: UInt64 = 0,
        variant: String = "",
        records: [String] = []
    ) {
        self.name = name
        self.type = type
        self.rcode = rcode
        self.source = source
        self.server = server
        origin = source == "local" || source.isEmpty ? nil : source
        originServer = server.isEmpty ? nil : server
        self.protected = protected
        self.validated = validated
        self.ageSeconds = ageSeconds
        self.ttlSeconds = ttlSeconds
        self.stale = stale
        self.hits = hits
        self.variant = variant
        self.records = records
    }
}
