// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Resolve`: names to resolve through cache, vendors and upstreams.
package struct ResolveRequest: CallParameters, Equatable {
    /// Names in presentation form; `ControlLimits` limits their number.
    package var names: [String]

    /// Type as a mnemonic or `TYPE65`; A and AAAA if nil.
    package var type: String?

    /// Creates the request.
    package init(names: [String], type: String? = nil) {
        self.names = names
        self.type = type
    }

    /// Arguments.
    package enum CodingKeys: CodingKey, CaseIterable { case names, type }

    /// Checks the number of names.
    ///
    /// - Parameter isStream: true if each name has a reply of its own.
    /// - Throws: `invalidArgument` for too many names, or none.
    package func check(isStream: Bool) throws(MethodError) {
        let range = isStream ? ControlLimits.resolvedNames : ControlLimits.resolvedAtOnce
        guard !range.contains(names.count) else { return }
        throw .invalidArgument(
            argument: "names",
            reason: "must be \(range.lowerBound) to \(range.upperBound)"
                + (isStream ? "" : ", or more in a call with \"more\"")
        )
    }
}

/// Reply to `Resolve`: one name per reply in a call with `more`, and none in the last; else all
/// names.
package struct ResolveReply: Codable, Sendable, Equatable {
    /// Results in the order of the names, A before AAAA.
    package var results: [Resolved]

    /// Creates the reply.
    package init(results: [Resolved]) { self.results = results }
}

/// Answer that a client would have received.
package struct Resolved: Codable, Sendable, Equatable {
    /// Name in presentation form.
    package var name: String

    /// Type as a mnemonic or `TYPE65`.
    package var type: String

    /// Response code as in `Stats`: `noerror`, `nodata`, `nxdomain` and others.
    package var rcode: String

    /// Type of the source as in `Stats`: `cache`, `stale`, `vendor`, `upstream`, `local` or
    /// `failed`.
    package var source: String

    /// Source of the answer, also of a cached one, such as `tencent/192.0.2.1:443`; nil for an
    /// answer of the daemon itself.
    package var server: String?

    /// Vendor or upstream that answered, and its address or URL; nil if `server` is nil.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// Data of the records of this type, in presentation form.
    package var records: [String]

    /// Lowest TTL of the answer; nil without records.
    package var ttlSeconds: Int?

    /// Extended DNS error (RFC 8914); nil if there is none.
    package var explanation: String?

    /// Time from the query to the answer; nil for a predicted answer.
    package var tookUs: Int?

    /// Creates a result from its parts.
    package init(
        name: String,
        type: String,
        rcode: String,
        source: String,
        server: String? = nil,
        records: [String] = [],
        ttlSeconds: Int? = nil,
        explanation: String? = nil,
        tookUs: Int? = nil
    ) {
        self.name = name
        self.type = type
        self.rcode = rcode
        self.source = source
        self.server = server
        let origin = AnswerOrigin(server)
        (self.origin, originServer) = (origin.name, origin.server)
        self.records = records
        self.ttlSeconds = ttlSeconds
        self.explanation = explanation
        self.tookUs = tookUs
    }

    /// True if there are records of the requested type.
    package var isResolved: Bool { rcode == "noerror" && !records.isEmpty }
}
