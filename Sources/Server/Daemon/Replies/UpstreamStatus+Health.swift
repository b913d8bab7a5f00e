// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net
internal import Upstream

extension UpstreamStatus {
    @ServiceLoop
    init(_ upstream: any Forwarding, _ health: HealthTable, now: ContinuousClock.Instant) {
        self.init(name: upstream.name, url: upstream.url, protected: upstream.isProtected)
        validates = upstream.validates
        let numbers = upstream.numbers
        calls = numbers.queries
        failures = numbers.failureCount
        foreignReplies = numbers.foreignReplies > 0 ? numbers.foreignReplies : nil
        latencyMedian = upstream.latency.median?.inMilliseconds
        lastError = numbers.lastError.map { "\($0)" }
        lastErrorAgeSeconds = numbers.lastErrorAt.map { now.seconds(since: $0) }
        servers = upstream.servers.map { UpstreamServer($0, health, now: now) }
        // An upstream that has never answered is down, however few its queries.  Failures for
        // single names say nothing about the upstream, because clients choose the names.
        let hasNeverAnswered = failures > 0 && failures >= calls
        let waiting = servers.count { $0.state != .up }
        let isDown = hasNeverAnswered || waiting == servers.count
        state = isDown ? .down : waiting > 0 ? .degraded : .up
        if health.isPaused(upstream.name) { state = .paused }
    }

    /// Problem shown by `status`; nil if there is none.
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
    fileprivate init(_ server: any Forwarding, _ health: HealthTable, now: ContinuousClock.Instant)
    {
        self.init(
            url: server.url,
            transport: String(server.url.prefix { $0 != ":" }),
            protected: server.isProtected
        )
        let report = health.report(of: server)
        switch report.condition {
        case .up:
            break
        case .rests(let end, let why):
            state = .rests
            forSeconds = end.seconds(from: now)
            reason = "\(why)"
        case .loops(let end):
            state = .loops
            forSeconds = end.seconds(from: now)
            reason = "\(UpstreamError.loop)"
        case .paused:
            state = .paused
            reason = "\(UpstreamError.paused)"
        }
        latency = report.latency?.inMilliseconds
        let numbers = server.numbers
        queries = numbers.queries
        successes = numbers.successes
        failures = numbers.failureCount
        connectionsOpened = numbers.connectionsOpened
        connectionsReused = numbers.connectionsReused
        lastError = numbers.lastError.map { "\($0)" }
        lastErrorAgeSeconds = numbers.lastErrorAt.map { now.seconds(since: $0) }
    }
}

extension UpstreamNumbers {
    fileprivate var failureCount: UInt64 { failures.values.reduce(0, +) }
}
