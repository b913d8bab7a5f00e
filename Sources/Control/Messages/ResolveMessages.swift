// SPDX-License-Identifier: Apache-2.0

/// The arguments of `Resolve`: names to ask for now, through cache, vendors and upstreams.
package struct ResolveRequest: CallParameters, Equatable {
    /// The names, in presentation form; at most as many as `ControlLimits` says.
    package var names: [String]

    /// The type, as a mnemonic or `TYPE65`; A and AAAA if nil.
    package var type: String?

    /// Makes the request.
    package init(names: [String], type: String? = nil) {
        self.names = names
        self.type = type
    }

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey, CaseIterable { case names, type }

    /// Checks how many names there are.
    ///
    /// - Parameter isStream: whether each name gets a reply of its own.
    /// - Throws: `invalidArgument` if they are too many, or none.
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

/// The reply to `Resolve`: of one name in a call with `more`, and in the end of none; else of all.
package struct ResolveReply: Codable, Sendable, Equatable {
    /// What was found, by name in the order of the arguments, A before AAAA.
    package var results: [Resolved]

    /// Makes the reply.
    package init(results: [Resolved]) { self.results = results }
}

/// What a client would have been answered.
package struct Resolved: Codable, Sendable, Equatable {
    /// The name, in presentation form.
    package var name: String

    /// The type, as a mnemonic or `TYPE65`.
    package var type: String

    /// In the words of `Stats`: `noerror`, `nodata`, `nxdomain` and others.
    package var rcode: String

    /// Who answered, in the words of `Stats`: `cache`, `stale`, `vendor`, `upstream`, `local` or
    /// `failed`.
    package var source: String

    /// Who gave the answer, also if the cache kept it, such as `tencent/192.0.2.1:443`; absent for
    /// answers of the daemon itself.
    package var server: String?

    /// The vendor or upstream that answered, and its address or URL; absent if `server`
    /// is.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    /// The data of the records of that type, in presentation form.
    package var records: [String]

    /// The lowest TTL of the answer; absent without records.
    package var ttlSeconds: Int?

    /// Why there is no better answer (RFC 8914); absent if there is nothing to say.
    package var explanation: String?

    /// From the question to its answer; absent of an answer that was only foretold.
    package var tookUs: Int?

    /// The names on the wire.
    package enum CodingKeys: String, CodingKey {
        case name, type, rcode, source, server, origin, records
        case originServer = "origin-server"
        case ttlSeconds = "ttl-seconds"
        case explanation
        case tookUs = "took-us"
    }

    /// Makes a result of its parts.
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

    /// Whether there are records of the type that was asked for.
    package var isResolved: Bool { rcode == "noerror" && !records.isEmpty }
}
