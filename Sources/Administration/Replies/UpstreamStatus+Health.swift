// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net
internal import Upstream

extension UpstreamStatus {
    @ServiceLoop
    init(_ upstream: any Forwarding, _ health: HealthTable, now: Instant) {
        var reply = Self(name: upstream.name, url: upstream.url, protected: upstream.isProtected)
        reply.validates = upstream.validates
        let numbers = upstream.numbers
        reply.calls = numbers.queries
        reply.failures = numbers.failureCount
        reply.foreignReplies = numbers.foreignReplies > 0 ? numbers.foreignReplies : nil
        reply.latencyMsP50 = upstream.latency.median?.inMilliseconds
        reply.lastError = numbers.lastError.map { "\($0)" }
        reply.lastErrorAgeSeconds = numbers.lastErrorAt.map { now.seconds(since: $0) }
        if let upstream = upstream as? LearnedUpstream, upstream.servers.isEmpty {
            (reply.lastError, reply.lastErrorAgeSeconds) = ("\(upstream.error)", nil)
        }
        reply.servers = upstream.servers.map { UpstreamServer($0, health, now: now) }
        // An upstream is down if all queries so far have failed, or if no server is in service.
        let waiting = reply.servers.count { $0.state != .up }
        let isDown = numbers.hasNeverAnswered || waiting == reply.servers.count
        reply.state = isDown ? .down : waiting > 0 ? .degraded : .up
        if health.isPaused(upstream.name) { reply.state = .paused }
        self = reply
    }

    var problem: String? {
        guard state != .up, state != .paused else { return nil }
        let waiting = servers.filter { $0.state != .up }
        let why = waiting.first?.reason ?? lastError ?? "not responding"
        guard state == .degraded else { return "upstream \(name): \(why)" }
        return "upstream \(name): \(waiting.count) of \(servers.count) servers unavailable: \(why)"
    }
}

extension UpstreamServer {
    @ServiceLoop
    fileprivate init(_ server: any Forwarding, _ health: HealthTable, now: Instant) {
        var reply = Self(
            url: server.url,
            transport: String(server.url.prefix { $0 != ":" }),
            protected: server.isProtected
        )
        let report = health.report(of: server)
        switch report.condition {
        case .up: break
        case .rests(let end, let why):
            reply.state = .rests
            reply.forSeconds = end.seconds(from: now)
            reply.reason = "\(why)"
        case .loops(let end):
            reply.state = .loops
            reply.forSeconds = end.seconds(from: now)
            reply.reason = "\(UpstreamError.loop)"
        case .paused:
            reply.state = .paused
            reply.reason = "\(UpstreamError.paused)"
        }
        reply.latencyMs = report.latency?.inMilliseconds
        let numbers = server.numbers
        reply.queries = numbers.queries
        reply.successes = numbers.successes
        reply.failures = numbers.failureCount
        reply.connectionsOpened = numbers.connectionsOpened
        reply.connectionsReused = numbers.connectionsReused
        reply.lastError = numbers.lastError.map { "\($0)" }
        reply.lastErrorAgeSeconds = numbers.lastErrorAt.map { now.seconds(since: $0) }
        self = reply
    }
}

extension UpstreamNumbers {
    fileprivate var failureCount: UInt64 { failures.values.reduce(0, +) }

    var hasNeverAnswered: Bool { failureCount > 0 && failureCount >= queries }
}
