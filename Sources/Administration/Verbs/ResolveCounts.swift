// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Resolver

/// Counts of resolutions from the vendors, fetched on demand.
@ServiceLoop
final class ResolveCounts {
    typealias Outcome = Result<ResolveCount, Failure>

    struct Failure: Error {
        let text: String
    }

    /// Minimum time between two requests with the same access key.
    private static let pause = Duration.seconds(60)

    private static let lookUpTimeout = Duration.seconds(3)

    /// Latest outcome by vendor, with the settings and the time of the request.
    private var outcomes: [String: (call: VendorSettings, at: Instant, outcome: Outcome)] = [:]

    nonisolated init() {}

    /// Returns the latest outcome for each vendor that has an access key.
    func known(_ state: DaemonState) -> [String: Outcome] {
        var known: [String: Outcome] = [:]
        for vendor in state.vendors where vendor.settings.resolveCount != nil {
            known[vendor.settings.name] = outcomes[vendor.settings.name]?.outcome
        }
        return known
    }

    func refresh(_ state: DaemonState) async {
        let now = state.clocks.now()
        let names = Set(state.vendors.map(\.settings.name))
        outcomes = outcomes.filter { names.contains($0.key) }
        let due = state.vendors.filter { vendor in
            guard vendor.settings.resolveCount != nil else { return false }
            guard let last = outcomes[vendor.settings.name] else { return true }
            return now - last.at >= Self.pause || last.call.billing != vendor.settings.billing
        }
        // Calls that arrive meanwhile must see that a request is in flight.
        for vendor in due {
            outcomes[vendor.settings.name] = (
                vendor.settings, now, .failure(Failure(text: "the request is under way; try again"))
            )
        }
        let requests = due.map { vendor in
            ServiceLoop.task { await Self.fetch(vendor, state) }
        }
        for (vendor, request) in zip(due, requests) {
            let outcome = await request.value
            outcomes[vendor.settings.name]?.outcome = outcome
        }
    }

    private static func fetch(
        _ vendor: (settings: VendorSettings, client: VendorClient),
        _ state: DaemonState
    ) async -> Outcome {
        guard let call = vendor.settings.resolveCount,
            let name = try? Name(AlibabaResolveCount.host)
        else { return .failure(Failure(text: "no access key")) }
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
