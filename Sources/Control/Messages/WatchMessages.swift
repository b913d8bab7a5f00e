// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Watch`: which queries are told; those that are not given let all pass.
package struct WatchRequest: CallParameters, Equatable {
    /// Only this name and those below it.
    package var name: String?

    /// Only this record type.
    package var type: String?

    /// Only answers of this source, in the words of `Stats`, or of this vendor or upstream.
    package var source: String?

    /// Only answers with this RCODE, in the words of `Stats`: `nodata` is NOERROR without records.
    package var rcode: String?

    /// Only queries of this client, an IP address.
    package var client: String?

    /// Only answers that took longer, in milliseconds.
    package var slowerMs: Double?

    /// The same in microseconds; not together with `slowerMs`, which goes.
    package var slowerUs: Int?

    /// After so many queries the call ends; 1 to 1,000,000.
    package var count: Int?

    /// Makes the request.
    package init() {}

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable {
        case name, type, source, rcode, client
        case slowerMs = "slower-ms"
        case slowerUs = "slower-us"
        case count
    }
}

/// One of the replies to `Watch`: what has been asked since the last one.
package struct WatchReply: Codable, Sendable, Equatable {
    /// The queries, in the order in which they came.
    package var queries: [QueryEvent]

    /// How many more there were that were not looked at, or are not told, as there were too many.
    package var missed: UInt64

    /// Makes the reply.
    package init(queries: [QueryEvent], missed: UInt64 = 0) {
        self.queries = queries
        self.missed = missed
    }
}

/// A query that was answered.
package struct QueryEvent: Codable, Sendable, Equatable {
    /// When it came: milliseconds since 1970.
    package var timeMs: Int64

    /// The same in microseconds, as in all other messages; the field in milliseconds goes.
    package private(set) var timeUs: Int64?

    /// The name, in presentation form; one of more than 216 octets ends in `...`.
    package var name: String

    package var type: String

    /// In the words of `Stats`: `noerror`, `nodata`, `nxdomain` and others.
    package var rcode: String

    /// Who answered, in the words of `Stats`: `cache`, `vendor`, `upstream` and others.
    package var source: String

    /// The server that gave the answer, also if the cache kept it; absent for answers of the daemon.
    package var server: String?

    /// The vendor or upstream of `server`, and its address or URL; absent likewise.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// Why an upstream was asked for what is a vendor's to tell: `empty` or `failed`.
    package var fallback: String?

    /// `udp` or `tcp`.
    package var transport: String

    /// The client's IP address.
    package var client: String

    /// From the query's arrival to its reply, in microseconds.
    package var tookUs: UInt32

    /// `truncated`, `merged` (another client's wait brought it), `refreshed` (it is asked anew),
    /// `unprotected` (a stranger on the way can have forged the answer).
    package var flags: [String]

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case timeMs = "time-ms"
        case timeUs = "time-us"
        case name, type, rcode, source, server, origin, fallback, transport, client
        case originServer = "origin-server"
        case tookUs = "took-us"
        case flags
    }

    /// Makes the event of its parts.
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
