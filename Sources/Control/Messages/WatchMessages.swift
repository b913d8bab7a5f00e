// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Watch`; absent ones match all.
package struct WatchRequest: CallParameters, Equatable {
    package var name: String?

    package var type: String?

    /// Source as in `Stats`, or a vendor or upstream.
    package var source: String?

    /// As in `Stats`; `nodata` is NOERROR without records.
    package var rcode: String?

    /// IP address.
    package var client: String?

    /// Deprecated; use `slowerUs`.
    package var slowerMs: Double?

    /// Only slower answers; not with `slowerMs`.
    package var slowerUs: Int?

    /// The call ends after 1 to 1,000,000 queries.
    package var count: Int?

    /// Creates the request.
    package init() {}

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable {
        case name, type, source, rcode, client, slowerMs, slowerUs, count
    }
}

/// A reply to `Watch`.
package struct WatchReply: Codable, Sendable, Equatable {
    package var queries: [QueryEvent]

    /// Queries beyond the limit.
    package var missed: UInt64

    /// Creates the reply.
    package init(queries: [QueryEvent], missed: UInt64 = 0) {
        self.queries = queries
        self.missed = missed
    }
}

/// An answered query.
package struct QueryEvent: Codable, Sendable, Equatable {
    /// Deprecated; use `timeUs`.
    package var timeMs: Int64

    /// Arrival since 1970.
    package private(set) var timeUs: Int64?

    /// A name of more than 216 octets ends in `...`.
    package var name: String

    package var type: String

    /// As in `Stats`.
    package var rcode: String

    /// As in `Stats`.
    package var source: String

    /// Server of the answer, also of a cached one; nil for the daemon.
    package var server: String?

    /// Vendor or upstream, with address or URL; nil for the daemon.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// Result of the vendor if an upstream answered instead: `empty` or `failed`; `early` if the vendor
    /// had not answered yet.
    package var fallback: String?

    /// `udp` or `tcp`.
    package var transport: String

    /// IP address.
    package var client: String

    package var tookUs: UInt32

    /// `truncated`, `merged` (joined another resolution), `refreshed` (started a refresh),
    /// `unprotected` (could be forged), `synthesized` (by DNS64).
    package var flags: [String]

    /// Creates an event.
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
