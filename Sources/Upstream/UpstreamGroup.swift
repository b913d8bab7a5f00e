// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Upstreams in the order of the settings: the first that answers has answered.
@ServiceLoop
package final class UpstreamGroup {
    package let members: [any Forwarding]

    /// How often the whole group is gone through; no server is asked more often than this for one
    /// query (RFC 9520 §3.1 allows three).
    private static let rounds = 2

    /// Makes a group of at least one.
    package init(_ members: [any Forwarding]) {
        self.members = members
    }

    /// A reply and who gave it.
    package struct Reply: Sendable {
        package let message: Message
        package let upstream: any Forwarding
    }

    /// Asks one after the other until one answers or `deadline` passes.
    ///
    /// Each is waited for as long as it may take, but no longer than its share of the time that is
    /// left, so that a silent one does not use up the others'.
    ///
    /// SERVFAIL and REFUSED are no answers: the next one may do better.
    ///
    /// - Throws: the last failure.
    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Reply {
        var failure = UpstreamError.timedOut
        for _ in 0..<Self.rounds {
            for (index, upstream) in members.enumerated() {
                let now = Clock.now
                guard now < deadline else { throw failure }
                let share = (deadline - now) / (members.count - index)
                do throws(UpstreamError) {
                    let message = try await upstream.exchange(
                        query,
                        deadline: now + min(upstream.timeout, share)
                    )
                    return Reply(message: message, upstream: upstream)
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }
}
