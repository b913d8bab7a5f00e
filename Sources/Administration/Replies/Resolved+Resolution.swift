// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import DNSWire
internal import Frontend
internal import Resolver

extension Resolved {
    init(_ resolution: Resolution, to question: Question, _ origins: AnswerSourceRegistry) {
        self.init(
            question,
            resolution.rcode,
            resolution.answers(to: question),
            source: QuerySource(resolution),
            origins.server(resolution.provenance.origin)
        )
        synthesized = origins.isSynthesized(resolution.provenance.origin) ? true : nil
        explanation = resolution.explanation.map { explanation in
            explanation.text.isEmpty
                ? "\(explanation.code)" : "\(explanation.code): \(explanation.text)"
        }
    }

    /// - Parameter staleTTL: TTL in seconds of a stale answer.
    init(_ entry: CacheEntry, staleTTL: UInt32? = nil, _ origins: AnswerSourceRegistry) {
        let isStale = entry.remaining == 0
        self.init(
            Question(name: entry.name, type: entry.type),
            entry.rcode,
            entry.message?.answers ?? [],
            source: isStale ? .stale : .cache,
            origins.server(entry.server)
        )
        synthesized = origins.isSynthesized(entry.server) ? true : nil
        if isStale, let staleTTL, ttlSeconds != nil { ttlSeconds = Int(staleTTL) }
    }

    private init(
        _ question: Question,
        _ rcode: RCode,
        _ answers: [Record],
        source: QuerySource,
        _ server: String?
    ) {
        self.init(
            name: "\(question.name)",
            type: "\(question.type)",
            rcode: QueryOutcome(rcode: rcode.rawValue, isEmpty: answers.isEmpty).name,
            source: "\(source)",
            server: server,
            records: answers.filter { $0.type == question.type }.map { "\($0.data)" },
            ttlSeconds: answers.map(\.ttl).min().map(Int.init)
        )
    }
}

extension AnswerSourceRegistry {
    /// Returns nil if `number` means this daemon.
    func server(_ number: UInt16) -> String? {
        let name = name(number)
        return name == self.name(Self.itself) ? nil : name
    }
}
