// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Watch`: filters for queries; absent arguments match all.
package struct WatchRequest: CallParameters, Equatable {
    /// Only this name and the names below it.
    package var name: String?

    /// Only this record type.
    package var type: String?

    /// Only answers of this source as in `Stats`, or of this vendor or upstream.
    package var source: String?

    /// Only answers with this RCODE as in `Stats`: `nodata` is NOERROR without records.
    package var rcode: String?

    /// Only queries of this client, an IP address.
    package var client: String?

    /// Only answers slower than this, in milliseconds; deprecated.
    package var slowerMs: Double?

    /// Only answers slower than this, in microseconds; not together with `slowerMs`.
    package var slowerUs: Int?

    /// Number of queries after which the call ends; 1 to 1,000,000.
    package var count: Int?

    /// Creates the request.
    package init() {}

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable {
        case name, type, source, rcode, client, slowerMs, slowerUs, count
    }
}

/// One of the replies to `Watch`: queries since the previous reply.
package struct WatchReply: Codable, Sendable, Equatable {
    /// Queries in the order of arrival.
    package var queries: [QueryEvent]

    /// Queries that were not sent because there were too many.
    package var missed: UInt64

    /// Creates the reply.
    package init(queries: [QueryEvent], missed: UInt64 = 0) {
        self.queries = queries
        self.missed = missed
    }
}

/// An answered query.
package struct QueryEvent: Codable, Sendable, Equatable {
    /// Arrival time in milliseconds since 1970; deprecated.
    package var timeMs: Int64

    /// Arrival time in microseconds since 1970.
    package private(set) var timeUs: Int64?

    /// Name in presentation form; a name of more than 216 octets ends in `...`.
    package var name: String

    package var type: String

    /// Response code as in `Stats`: `noerror`, `nodata`, `nxdomain` and others.
    package var rcode: String

    /// Type of the source as in `Stats`: `cache`, `vendor`, `upstream` and others.
    package var source: String

    /// Server of the answer, also of a cached one; nil for an answer of the daemon itself.
    package var server: String?

    /// Vendor or upstream of `server`, and its address or URL; nil if `server` is nil.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// Reason why an upstream answered in a vendor's place: `empty` or `failed`.
    package var fallback: String?

    /// `udp` or `tcp`.
    package var transport: String

    /// IP address of the client.
    package var client: String

    /// Time from arrival to reply in microseconds.
    package var tookUs: UInt32

    /// Flags: `truncated`, `merged` (joined a resolution in flight), `refreshed` (a refresh was
    /// started), `unprotected` (the answer can have been forged in transit).
    package var flags: [String]

    /// Creates the event from its parts.
    package init(
        timeMs: Int64,
        name: String,
        type: String,
        rcode: String,
        source: String,
        server: String? = nil,
        fallback: String? = nil,
        transport: String,
        client: String,
        tookUs: UInt32,
        flags: [String] = []
    ) {
        self.timeMs = timeMs
        timeUs = timeMs * 1_000
        self.name = name
        self.type = type
        self.rcode = rcode
        self.source = source
        self.server = server
        let origin = AnswerOrigin(server)
        (self.origin, originServer) = (origin.name, origin.server)
        self.fallback = fallback
        self.transport = transport
        self.client = client
        self.tookUs = tookUs
        self.flags = flags
    }
}
