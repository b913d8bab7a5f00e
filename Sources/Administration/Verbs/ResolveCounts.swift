// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Resolver

@ServiceLoop
final class ResolveCounts {
    typealias Outcome = Result<ResolveCount, Failure>

    struct Failure: Error {
        let text: String
    }

    private static let pause = Duration.seconds(60)

    private static let lookUpTimeout = Duration.seconds(3)

    private var outcomes: [(call: AlibabaResolveCount, at: Instant, outcome: Outcome)] = []

    nonisolated init() {}

    func known(_ state: DaemonState) -> [String: Outcome] {
        var known: [String: Outcome] = [:]
        for vendor in state.vendors {
            let call = vendor.settings.resolveCount
            known[vendor.settings.name] = outcomes.first { $0.call == call }?.outcome
        }
        return known
    }

    /// Fetches all counts that are unknown or older than one minute; takes at most 6 s.
    func refresh(_ state: DaemonState) async {
        let now = state.clocks.now()
        outcomes.removeAll { now - $0.at >= Self.pause }
        var requests: [(AlibabaResolveCount, Task<Outcome, Never>)] = []
        for vendor in state.vendors {
            guard let call = vendor.settings.resolveCount,
                !outcomes.contains(where: { $0.call == call })
            else { continue }
            // Until the request ends, other callers of `known` get this failure.
            let underWay = Failure(text: "the request to the vendor is in flight; try again")
            outcomes.append((call, now, .failure(underWay)))
            requests.append((call, ServiceLoop.task { await Self.fetch(call, vendor, state) }))
        }
        for (call, request) in requests {
            let outcome = await request.value
            guard let index = outcomes.firstIndex(where: { $0.call == call }) else { continue }
            outcomes[index].outcome = outcome
        }
    }

    private static func fetch(
        _ call: AlibabaResolveCount,
        _ vendor: (settings: VendorSettings, client: VendorClient),
        _ state: DaemonState
    ) async -> Outcome {
        guard let name = try? Name(AlibabaResolveCount.host) else {
            preconditionFailure("the host of the API is not a DNS name")
        }
        let query = Query(question: Question(name: name, type: .a))
        let resolution = await state.resolver.resolve(
            query,
            deadline: state.clocks.now() + lookUpTimeout
        )
        let resolved = Resolved(resolution, to: query.question, state.resolver.origins)
        guard let server = resolved.records.lazy.compactMap({ SocketAddress("\($0):443") }).first
        else { return .failure(Failure(text: "\(name) has no address (\(resolved.rcode))")) }
        return await vendor.client.fetchCount(call, at: server).mapError {
            Failure(text: "\(AlibabaResolveCount.host): \($0)")
        }
    }
}
