// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Watch`; an absent argument matches all queries.
package struct WatchRequest: CallParameters, Equatable {
    package var name: String?
    package var type: String?

    package var source: String?

    package var rcode: String?
    package var client: String?

    /// Deprecated; use `slowerUs`.
    package var slowerMs: Double?

    /// Not permitted with `slowerMs`.
    package var slowerUs: Int?

    /// From 1 to 1,000,000.
    package var count: Int?

    package init() {}

    package enum CodingKeys: CodingKey, CaseIterable {
        case name, type, source, rcode, client, slowerMs, slowerUs, count
    }
}

package struct WatchReply: Codable, Sendable, Equatable {
    package var queries: [QueryEvent]

    package var missed: UInt64

    package init(queries: [QueryEvent], missed: UInt64 = 0) {
        self.queries = queries
        self.missed = missed
    }
}

package struct QueryEvent: Codable, Sendable, Equatable {
    /// Deprecated; use `timeUs`.
    package var timeMs: Int64

    /// Arrival in microseconds since 1970.
    package private(set) var timeUs: Int64?

    /// A name of more than 216 octets is cut and ends in `...`.
    package var name: String

    package var type: String
    package var rcode: String
    package var source: String
    package var server: String?
    package private(set) var origin: String?
    package private(set) var originServer: String?

    package var fallback: String?

    package var transport: String
    package var client: String
    package var tookUs: UInt32

    /// `truncated`, `merged` (joined another resolution), `refreshed` (started a refresh),
    /// `unprotected` (could be forged), `synthesized` (by DNS64), `fleet` (shared by another
    /// machine).
    package var flags: [String]

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
