// SPDX-License-Identifier: Apache-2.0

/// Arguments of `Resolve`.
package struct ResolveRequest: CallParameters, Equatable {
    /// Limits: ``ControlLimits``.
    package var names: [String]

    /// A and AAAA if nil.
    package var type: String?

    /// Creates the request.
    package init(names: [String], type: String? = nil) {
        self.names = names
        self.type = type
    }

    /// Names.
    package enum CodingKeys: CodingKey, CaseIterable { case names, type }

    /// Checks the number of names; `isStream` means a reply for each name.
    ///
    /// - Throws: `invalidArgument`.
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

/// Reply to `Resolve`; with `more`, one name per reply and none in the last.
package struct ResolveReply: Codable, Sendable, Equatable {
    package var results: [Resolved]

    /// Creates the reply.
    package init(results: [Resolved]) { self.results = results }
}

/// Answer to a client.
package struct Resolved: Codable, Sendable, Equatable {
    package var name: String

    package var type: String

    /// `noerror`, `nodata`, `nxdomain` and others.
    package var rcode: String

    /// `cache`, `stale`, `vendor`, `upstream`, `local` or `failed`.
    package var source: String

    /// Such as `tencent/192.0.2.1:443`, also of a cached answer; nil for the daemon.
    package var server: String?

    /// Vendor or upstream, with address or URL; nil for the daemon.
    package private(set) var origin: String?
    package private(set) var originServer: String?

    package var records: [String]

    package var ttlSeconds: Int?

    package var explanation: String?

    /// True if made from another answer for a network with NAT64 (RFC 6147); otherwise nil.
    package var synthesized: Bool?

    /// nil for a predicted answer.
    package var tookUs: Int?

    /// Creates a result.
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

    /// True with records of the requested type.
    package var isResolved: Bool { rcode == "noerror" && !records.isEmpty }
}
