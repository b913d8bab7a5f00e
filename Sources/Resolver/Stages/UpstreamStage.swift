// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
package import Upstream

/// Asks upstream resolvers and makes of their replies what a client may be told.
@ServiceLoop
package final class UpstreamStage {
    private let policy: TTLPolicy
    private let origins: Origins
    private let clocks: Clocks

    /// How long upstreams' answers took, tries that failed included.
    package nonisolated let latency = LatencyHistogram()

    /// Makes the stage.
    package init(policy: TTLPolicy, origins: Origins, clocks: Clocks) {
        self.policy = policy
        self.origins = origins
        self.clocks = clocks
    }

    /// The group's answer, or SERVFAIL with the reason for clients that understand it.
    func resolve(
        _ query: Query,
        through group: UpstreamGroup?,
        deadline: ContinuousClock.Instant
    ) async -> Resolution {
        guard let group else {
            return .failure(query, .noReachableAuthority, "no upstream is configured for this name")
        }
        guard !group.health.recognises(query.question) else {
            return .failure(query, .other, "what this server asked came back to it")
        }
        let start = clocks.now()
        do throws(UpstreamError) {
            let reply = try await group.exchange(
                ForwardedQuery(
                    question: query.question,
                    dnssecOK: query.dnssecOK,
                    checkingDisabled: query.checkingDisabled
                ),
                deadline: deadline
            )
            latency.note(clocks.now() - start)
            let provenance = Provenance(
                source: .upstream,
                origin: origins.number(Self.origin(of: reply.upstream))
            )
            return
                (try? Resolution(
                    reply.message,
                    to: query,
                    policy,
                    provenance,
                    isBelieved: reply.upstream.validates
                ))
                ?? .failure(query, .other, "the answer does not fit a message")
        } catch {
            switch error {
            case .unreachable:
                return .failure(query, .networkError, "no upstream could be reached")
            case .untrusted:
                return .failure(query, .networkError, "no upstream could be trusted")
            case .loop:
                return .failure(query, .noReachableAuthority, "the upstreams ask this server")
            case .declined(_, because: let code?):
                return .failure(query, code, "so says the upstream")
            case .timedOut, .declined, .broken:
                return .failure(query, .noReachableAuthority, "no upstream answered")
            }
        }
    }

    /// What `Origins` calls a server.
    package nonisolated static func origin(of server: any Forwarding) -> String {
        "\(server.name)/\(server.url)"
    }
}
