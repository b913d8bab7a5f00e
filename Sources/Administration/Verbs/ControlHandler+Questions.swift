// SPDX-License-Identifier: Apache-2.0
internal import Configuration
package import Control
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver

extension ControlHandler {
    package func explain(
        _ request: ExplainRequest,
        isLive: Bool
    ) async throws(MethodError) -> ExplainReply {
        let query = Query(
            question: Question(
                name: try Self.name(request.name, "name"),
                type: try request.type.map(Self.type) ?? .a
            )
        )
        let resolver = daemon.state.resolver
        var reply = ExplainReply(resolver.preview(query), resolver.origins, now: clocks.now())
        if isLive { reply.live = await LiveReport(asking: query, resolver, clocks) }
        return reply
    }

    package func resolve(
        _ request: ResolveRequest,
        _ send: Send<ResolveReply>?
    ) async throws -> ResolveReply {
        let types = try request.type.map { [try Self.type($0)] } ?? [.a, .aaaa]
        var names: [Name] = []
        for name in request.names {
            names.append(try Self.name(name, "names, `\(name.shortened)`"))
        }
        // Resolves up to `resolvedTogether` names at the same time. While the client does not read,
        // the resolution of further names does not begin.
        var underWay: [Task<[Resolved], Never>] = []
        var waiting = names[...]
        var all: [Resolved] = []
        while true {
            while underWay.count < ControlLimits.resolvedTogether, let name = waiting.popFirst() {
                underWay.append(ServiceLoop.task { [self] in await resolved(name, types) })
            }
            guard !underWay.isEmpty else { return ResolveReply(results: all) }
            let results = await underWay.removeFirst().value
            try Task.checkCancellation()
            if let send {
                try await send(ResolveReply(results: results))
            } else {
                all += results
            }
        }
    }

    /// Limits of one part of `dump`: number of entries, and octets of their records as text.
    private static let dumpedTogether = (entries: 256, octets: 1 << 20)

    package func dump(_ send: @escaping Send<DumpReply>) async throws -> DumpReply {
        // Holds no `DaemonState`: a reference would keep old settings in memory after a reload.
        let cache = daemon.state.cache
        let origins = daemon.state.resolver.origins
        var walk = CacheWalk(cache)
        var (part, octets): ([CachedEntry], Int) = ([], 0)
        while let entries = walk.next(now: clocks.now()) {
            if !entries.isEmpty {
                let shown = await offLoop { entries.map { CachedEntry($0, origins) } }
                part += shown
                octets += shown.reduce(0) { $0 + $1.recordOctets }
            }
            let (most, mostOctets) = Self.dumpedTogether
            if !part.isEmpty, part.count >= most || octets >= mostOctets || walk.isAtEnd {
                try await send(DumpReply(entries: part, total: Int(cache.numbers.entries)))
                (part, octets) = ([], 0)
            }
            // `send` may return without a suspension; without `yield`, this loop would block other
            // work.
            await Task.yield()
            try Task.checkCancellation()
        }
        return DumpReply(entries: [], total: Int(cache.numbers.entries))
    }

    private func resolved(_ name: Name, _ types: [RecordType]) async -> [Resolved] {
        let asked = types.map { type in
            ServiceLoop.task { [self] in await resolved(Question(name: name, type: type)) }
        }
        var results: [Resolved] = []
        for task in asked { results.append(await task.value) }
        return results
    }

    private func resolved(_ question: Question) async -> Resolved {
        let state = daemon.state
        let (resolver, start) = (state.resolver, clocks.now())
        let query = Query(question: question)
        var result: Resolved
        if let hit = resolver.hit(query) {
            result = Resolved(hit, resolver.origins)
        } else {
            let answer = await resolver.resolve(query, deadline: start + ResolverLimits.total)
            result = Resolved(answer, to: question, resolver.origins)
        }
        result.tookUs = Int((clocks.now() - start) / .microseconds(1))
        return result
    }
}
