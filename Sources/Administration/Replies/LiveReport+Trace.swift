// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Resolver

extension LiveReport {
    /// Resolves `query` without using the cache, and creates the report of the attempts.
    @ServiceLoop
    init(asking query: Query, _ resolver: Resolver, _ clocks: Clocks) async {
        let vendors = resolver.preview(query).match?.route.vendors ?? []
        let (trace, start, before) = (Trace(), clocks.now(), vendors.map(\.statistics))
        let resolution = await resolver.resolve(
            query,
            deadline: start + ResolverLimits.total,
            trace: trace
        )
        self.init(answer: Resolved(resolution, to: query.question, resolver.origins))
        answer.tookUs = Int((clocks.now() - start) / .microseconds(1))
        attempts = trace.attempts.map { LiveAttempt($0, since: start) }
        notes = trace.notes
        leftOut = trace.leftOut
        let spent = zip(vendors.map(\.statistics), before).map { now, before in
            (
                statistics: now,
                calls: now.billable - before.billable,
                units: now.units.atMost - before.units.atMost
            )
        }
        billableCalls = Int(clamping: spent.reduce(0) { $0 + $1.calls })
        units = spent.reduce(0) { $0 + $1.units }
        money = BilledCost(
            sum: spent.filter { $0.units > 0 }.map {
                BilledCost($0.units, isSpent: true, $0.statistics)
            }
        )
    }
}

extension LiveAttempt {
    fileprivate init(_ attempt: Trace.Attempt, since start: Instant) {
        var reply = Self(
            name: attempt.name,
            server: attempt.server,
            why: attempt.why.rawValue,
            afterMs: (attempt.began - start).inMilliseconds
        )
        reply.request = attempt.request
        if let end = attempt.end {
            reply.result = end.result
            reply.tookMs = (end.at - attempt.began).inMilliseconds
        }
        reply.reused = attempt.isReused
        reply.status = attempt.transfer?.status
        if let times = attempt.transfer?.times {
            reply.firstOctetMs = times.firstOctet.inMilliseconds
            if attempt.isReused == false {
                reply.connectedMs = times.connected.inMilliseconds
                reply.securedMs = times.secured > .zero ? times.secured.inMilliseconds : nil
            }
        }
        self = reply
    }
}
