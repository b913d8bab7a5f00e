// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import DNSWire
internal import Resolver

extension Resolved {
    /// What a client is told that asks `question`.
    init(_ resolution: Resolution, to question: Question, _ origins: Origins) {
        self.init(
            question,
            resolution.rcode,
            resolution.answers(to: question),
            source: QuerySource(resolution),
            origins.server(resolution.provenance.origin)
        )
        explanation = resolution.explanation.map { explanation in
            explanation.text.isEmpty
                ? "\(explanation.code)" : "\(explanation.code): \(explanation.text)"
        }
    }

    /// What a client is told from an entry of the cache.
    ///
    /// - Parameter staleTTL: the seconds that its records get, if it is given as a last resort.
    init(_ entry: CacheEntry, staleTTL: UInt32? = nil, _ origins: Origins) {
        let isStale = entry.remaining == 0
        self.init(
            Question(name: entry.name, type: entry.type),
            entry.rcode,
            (try? Message(parsing: entry.message))?.answers ?? [],
            source: isStale ? .stale : .cache,
            origins.server(entry.server)
        )
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

extension QuerySource {
    /// Who has said what a resolver found out.
    init(_ resolution: Resolution) {
        self =
            if resolution.isFailure {
                .failed
            } else if resolution.provenance.isStale {
                .stale
            } else {
                switch resolution.provenance.source {
                case .vendor: .vendor
                case .upstream: .upstream
                case .local: .local
                }
            }
    }
}

extension Origins {
    /// What has a number, and where it is; nil for this daemon.
    ///
    /// The daemon has other numbers, too: when it says that nobody answered after a vendor had nothing.
    func server(_ number: UInt16) -> String? {
        let name = name(number)
        return name == self.name(Self.itself) ? nil : name
    }
}
