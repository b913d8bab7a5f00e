// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net
internal import Upstream

extension UpstreamStatus {
    /// How an upstream and its servers are doing.
    @ServiceLoop
    init(_ upstream: any Forwarding, _ health: HealthBook, now: ContinuousClock.Instant) {
        self.init(name: upstream.name, url: upstream.url, protected: upstream.isProtected)
        validates = upstream.validates
        let numbers = upstream.numbers
        calls = numbers.queries
        failures = numbers.failureCount
        latencyMedian = upstream.latency.median?.inMilliseconds
        lastError = numbers.lastError.map { "\($0)" }
        lastErrorAgeSeconds = numbers.lastErrorAt.map { now.seconds(since: $0) }
        servers = upstream.servers.map { UpstreamServer($0, health, now: now) }
        // One that says no to everything does not rest, as names may be broken, but is of no use.
        let isUseless = numbers.consecutiveFailures > 2
        let waiting = servers.count { $0.state != .up }
        state = isUseless || waiting == servers.count ? .down : waiting > 0 ? .degraded : .up
    }

    /// What `status` says of it under "problems"; nil if all is well.
    var problem: String? {
        guard state != .up else { return nil }
        let waiting = servers.filter { $0.state != .up }
        let why = waiting.first?.reason ?? lastError ?? "does not answer"
        guard state == .degraded else { return "upstream \(name): \(why)" }
        return "upstream \(name): \(waiting.count) of \(servers.count) servers not asked: \(why)"
    }
}

extension UpstreamServer {
    /// How a server is doing.
    @ServiceLoop
    fileprivate init(_ server: any Forwarding, _ health: HealthBook, now: ContinuousClock.Instant) {
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
    /// Failures of all kinds.
    fileprivate var failureCount: UInt64 { failures.values.reduce(0, +) }
}
