// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Lookup`.
package struct LookupRequest: CallParameters, Equatable {
    package var name: String

    /// nil for all types.
    package var type: String?

    /// Creates the request.
    package init(name: String, type: String? = nil) {
        self.name = name
        self.type = type
    }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case name, type }
}

/// Reply to `Lookup`; `NotFound` replaces an empty one.
package struct LookupReply: Codable, Sendable, Equatable {
    package var entries: [CachedEntry]

    /// Creates the reply.
    package init(entries: [CachedEntry]) { self.entries = entries }
}

/// A cache entry.
package struct CachedEntry: Codable, Sendable, Equatable {
    package var name: String

    package var type: String

    /// Lower case; `nodata` is NOERROR without records.
    package var rcode: String

    /// Vendor or upstream, or `local`.
    package var source: String

    /// Such as `192.0.2.1:443` or `udp://192.0.2.53`.
    package var server: String

    /// Vendor or upstream, with address or URL; nil for the daemon.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// True if forged answers are detected; nil for the daemon.
    package var protected: Bool?

    package var validated: Bool

    /// True if made from another answer for a network with NAT64 (RFC 6147); otherwise nil.
    package var synthesized: Bool?

    package var ageSeconds: Int

    package var ttlSeconds: Int

    package var stale: Bool

    /// Includes half of the hits of replaced entries.
    package var hits: UInt64

    /// Clients of the entry, such as `do`; often empty.
    package var variant: String

    package var records: [String]

    /// Creates an entry.
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
