// SPDX-License-Identifier: Apache-2.0

package struct LookupRequest: CallParameters, Equatable {
    package var name: String

    /// Query type; if nil, all types.
    package var type: String?

    package init(name: String, type: String? = nil) {
        self.name = name
        self.type = type
    }

    package enum CodingKeys: CodingKey, CaseIterable { case name, type }
}

/// Reply to `Lookup`; if the cache has no entry, the daemon sends the error `NotFound` instead.
package struct LookupReply: Codable, Sendable, Equatable {
    package var entries: [CachedEntry]
    package init(entries: [CachedEntry]) { self.entries = entries }
}

package struct CachedEntry: Codable, Sendable, Equatable {
    package var name: String
    package var type: String

    /// RCODE in lower case; `nodata` is NOERROR without records.
    package var rcode: String

    /// Source of the answer: name of a vendor or upstream, or `local`.
    package var source: String

    /// Server that sent the answer, such as `192.0.2.1:443` or `udp://192.0.2.53`.
    package var server: String

    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// True if the transport detects forged answers; nil if the answer is local.
    package var protected: Bool?

    package var validated: Bool

    /// True if DNS64 made the answer (RFC 6147); otherwise nil.
    package var synthesized: Bool?

    /// Machine of the fleet that shared the answer; nil if this machine fetched the answer.
    package var fleet: String?

    package var ageSeconds: Int
    package var ttlSeconds: Int
    package var stale: Bool

    /// Number of hits of the entry; each refresh of the entry halves this number.
    package var hits: UInt64

    /// Flags DO and CD of the queries that the entry answers (`do=1 cd=0`).
    ///
    /// The value is `any` if the entry answers queries with all combinations of these flags.
    package var variant: String

    package var records: [String]

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
