// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Lookup`: what the cache holds of a name.
package struct LookupRequest: CallParameters, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// Only entries of this type, as a mnemonic or `TYPE65`; all types if nil.
    package var type: String?

    /// Makes the request.
    package init(name: String, type: String? = nil) {
        self.name = name
        self.type = type
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case name, type }
}

/// The reply to `Lookup`; never without entries, as that is the error `NotFound`.
package struct LookupReply: Codable, Sendable, Equatable {
    /// The entries, by type.
    package var entries: [CachedEntry]

    /// Makes the reply.
    package init(entries: [CachedEntry]) { self.entries = entries }
}

/// One entry of the cache.
package struct CachedEntry: Codable, Sendable, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// The type, as a mnemonic or `TYPE65`.
    package var type: String

    /// The response code in lower case; `nodata` is NOERROR without records.
    package var rcode: String

    /// Who answered: the name of a vendor or an upstream, or `local`.
    package var source: String

    /// The server that answered, such as `192.0.2.1:443` or
    /// `udp://192.0.2.53`; empty if none did.
    package var server: String

    /// The vendor or upstream that answered, and its address or URL; nil if it was the daemon itself.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// Whether nobody on the way here could read or change it; nil unless an upstream answered.
    package var protected: Bool?

    /// Whether it was validated by an upstream that is believed: AD.
    package var validated: Bool

    /// How long ago the answer came.
    package var ageSeconds: Int

    /// How long the entry stays fresh; 0 once it is stale.
    package var ttlSeconds: Int

    /// Whether the time to live has passed.
    package var stale: Bool

    /// How often the entry answered since it came.
    package var hits: UInt64

    /// Which of several entries for one question this is, such as `do` for DNSSEC; often empty.
    package var variant: String

    /// The records, in presentation form; none in a negative entry.
    package var records: [String]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, type, rcode, source, server, origin, protected, validated
        case originServer = "origin-server"
        case ageSeconds = "age-seconds"
        case ttlSeconds = "ttl-seconds"
        case stale, hits, variant, records
    }

    /// Makes an entry of its parts.
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
