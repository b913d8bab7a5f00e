// SPDX-License-Identifier: Apache-2.0

package struct LookupRequest: CallParameters, Equatable {
    package var name: String

    /// If nil, all types.
    package var type: String?

    package init(name: String, type: String? = nil) {
        self.name = name
        self.type = type
    }

    package enum CodingKeys: CodingKey, CaseIterable { case name, type }
}

/// Reply to `Lookup`; the error `NotFound` replaces an empty reply.
package struct LookupReply: Codable, Sendable, Equatable {
    package var entries: [CachedEntry]
    package init(entries: [CachedEntry]) { self.entries = entries }
}

package struct CachedEntry: Codable, Sendable, Equatable {
    package var name: String
    package var type: String

    package var rcode: String

    package var source: String

    package var server: String

    package private(set) var origin: String?
    package private(set) var originServer: String?

    package var protected: Bool?

    package var validated: Bool

    package var synthesized: Bool?

    /// Machine that shared the answer; nil if this machine fetched it.
    package var fleet: String?

    package var ageSeconds: Int
    package var ttlSeconds: Int
    package var stale: Bool

    /// Each refresh of the entry halves this number.
    package var hits: UInt64

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
