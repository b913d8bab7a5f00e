// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS
internal import Net
internal import Resolver

extension LiveReport {
    /// Resolves `query` without the cache, and describes the attempts.
    @ServiceLoop
    init(asking query: Query, _ resolver: Resolver, _ clocks: Clocks) async {
        let vendors = resolver.preview(query).match?.route.vendors ?? []
        let spent = { vendors.reduce(0) { $0 + $1.statistics.billable } }
        let (trace, start, before) = (Trace(), clocks.now(), spent())
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
        billableCalls = Int(clamping: spent() - before)
    }
}

extension LiveAttempt {
    fileprivate init(_ attempt: Trace.Attempt, since start: Instant) {
        // Assigned through a variable, as in `VendorStats`.
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
