// SPDX-License-Identifier: Apache-2.0

package struct ResolveRequest: CallParameters, Equatable {
    package var names: [String]

    package var type: String?

    package init(names: [String], type: String? = nil) {
        self.names = names
        self.type = type
    }

    package enum CodingKeys: CodingKey, CaseIterable { case names, type }

    /// Checks the number of names; `isStream` is true if each name gets a separate reply.
    ///
    /// - Throws: `invalidArgument`.
    package func check(isStream: Bool) throws(MethodError) {
        let range = isStream ? ControlLimits.resolvedNames : ControlLimits.resolvedAtOnce
        guard !range.contains(names.count) else { return }
        throw .invalidArgument(
            argument: "names",
            reason: "must have \(range.lowerBound) to \(range.upperBound) elements"
                + (isStream
                    ? ""
                    : "; with the flag \"more\", up to \(ControlLimits.resolvedNames.upperBound)")
        )
    }
}

/// Reply to `Resolve`.
package struct ResolveReply: Codable, Sendable, Equatable {
    package var results: [Resolved]
    package init(results: [Resolved]) { self.results = results }
}

/// Answer of the daemon to a question.
package struct Resolved: Codable, Sendable, Equatable {
    package var name: String
    package var type: String

    package var rcode: String

    package var source: String

    /// Origin of the answer, such as `tencent/192.0.2.1:443`, also for a cached answer; nil if the
    /// daemon itself made the answer.
    package var server: String?

    package private(set) var origin: String?

    package private(set) var originServer: String?

    package var records: [String]
    package var ttlSeconds: Int?
    package var explanation: String?

    package var synthesized: Bool?

    package var tookUs: Int?

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

    package var isResolved: Bool { rcode == "noerror" && !records.isEmpty }
}
