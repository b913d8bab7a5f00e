// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

@Suite("Server selection")
struct EndpointPoolTests {
    private let now = Instant(nanoseconds: 0)

    private func pool(_ count: Int, failuresBeforeSwitch: Int = 3) throws -> EndpointPool {
        let servers = try (1...count).map { try server("192.0.2.\($0):443") }
        return EndpointPool(servers: servers, failuresBeforeSwitch: failuresBeforeSwitch)
    }

    private func order(_ pool: EndpointPool, after time: Duration = .zero) -> String {
        guard case .servers(let order) = pool.order(now: now + time) else { return "" }
        return order.map { String($0.host.suffix(1)) }.joined()
    }

    private func trialOrder(_ pool: EndpointPool, after time: Duration = .zero) -> String {
        pool.trialOrder(now: now + time).map { String($0.host.suffix(1)) }.joined()
    }

    private func begin(
        _ pool: inout EndpointPool,
        _ server: SocketAddress,
        isTrial: Bool = false,
        after time: Duration = .zero
    ) throws -> EndpointPool.Attempt {
        guard let attempt = pool.begin(server, isTrial: isTrial, now: now + time) else {
            throw Unexpected(what: "no attempt on \(server)")
        }
        return attempt
    }

    @discardableResult
    private func attempt(
        _ pool: inout EndpointPool,
        _ digit: Int,
        _ outcome: EndpointPool.Outcome,
        times: Int = 1,
        after time: Duration = .zero
    ) throws -> [EndpointPool.Change] {
        try (0..<times).compactMap { _ in
            let server = try server("192.0.2.\(digit):443")
            let attempt = try begin(&pool, server, after: time)
            return pool.end(attempt, outcome, now: now + time)
        }
    }

    @Test("a call tries each server once, in order")
    func order() throws {
        #expect(order(try pool(3)) == "123")
        #expect(order(try pool(1)) == "1")
        let twice = try [1, 2, 1].map { try server("192.0.2.\($0):443") }
        #expect(EndpointPool(servers: twice).servers.count == 2)
    }

    @Test("address families alternate from the current server on")
    func families() throws {
        let servers = try ["192.0.2.1", "192.0.2.2", "192.0.2.3", "[2001:db8::4]", "[2001:db8::5]"]
            .map { try server("\($0):443") }
        var pool = EndpointPool(servers: servers, failuresBeforeSwitch: 1)
        #expect(order(pool) == "14253")
        try attempt(&pool, 1, .failed)
        #expect(order(pool) == "41523")
    }

    @Test("three consecutive failures make the next server current")
    func switching() throws {
        var pool = try pool(3)
        let (first, second) = (pool.servers[0], pool.servers[1])
        #expect(try attempt(&pool, 1, .failed, times: 2).isEmpty)
        #expect(pool.current == first)
        #expect(try attempt(&pool, 1, .failed) == [.switched(from: first, to: second)])
        #expect(pool.current == second)
        #expect(order(pool) == "231")
    }

    @Test("an answer, even a late one, resets the failures")
    func success() throws {
        var pool = try pool(2)
        for _ in 0..<10 {
            #expect(try attempt(&pool, 1, .failed, times: 2).isEmpty)
            try attempt(&pool, 1, .answeredLate)
        }
        #expect(order(pool) == "12")
    }

    @Test("only failures of the current server cause a switch")
    func sticky() throws {
        var pool = try pool(3)
        #expect(try attempt(&pool, 2, .failed, times: 10).isEmpty)
        #expect(try attempt(&pool, 1, .unjudged, times: 10).isEmpty)
        #expect(try attempt(&pool, 1, .limited(retryAfter: .seconds(1))).isEmpty)
        #expect(pool.current == pool.primary)
    }

    @Test("concurrent failures cause one switch")
    func together() throws {
        var pool = try pool(2)
        let server = pool.primary
        let attempts = (0..<50).compactMap { _ in pool.begin(server, now: now) }
        let changes = attempts.prefix(25).compactMap { pool.end($0, .failed, now: now) }
        #expect(changes.count == 1)
        try attempt(&pool, 2, .failed, times: 3)
        #expect(order(pool) == "12")
        #expect(attempts.suffix(25).compactMap { pool.end($0, .failed, now: now) }.isEmpty)
    }

    @Test("after the last server the first is current again")
    func round() throws {
        var pool = try pool(3, failuresBeforeSwitch: 1)
        #expect(try (1...3).flatMap { try attempt(&pool, $0, .failed) }.count == 3)
        #expect(order(pool) == "123")
        #expect(pool.returnAt == nil)
        var single = try self.pool(1)
        #expect(try attempt(&single, 1, .failed, times: 10).isEmpty)
    }

    @Test("failures of clients' names count only if a later probe fails")
    func suspicions() throws {
        var pool = try pool(2)
        let early = try begin(&pool, pool.primary)
        try attempt(&pool, 1, .suspected, times: 2)
        #expect(pool.isCurrentSuspected)
        let trial = try begin(&pool, pool.primary, isTrial: true)
        let late = try begin(&pool, pool.primary)
        #expect(pool.end(trial, .failed, now: now) == nil)
        #expect(!pool.isCurrentSuspected)
        #expect(pool.end(late, .suspected, now: now) == nil)
        #expect(
            pool.end(early, .suspected, now: now)
                == .switched(from: pool.servers[0], to: pool.servers[1])
        )
    }

    @Test("unanswered names cause no switch while probes are answered")
    func deadNames() throws {
        var pool = try pool(2)
        for _ in 1...50 {
            let dead = try begin(&pool, pool.primary)
            try attempt(&pool, 1, .suspected, times: 5)
            let trial = try begin(&pool, pool.primary, isTrial: true)
            #expect(pool.end(trial, .answered, now: now) == nil)
            #expect(pool.end(dead, .suspected, now: now) == nil)
            #expect(!pool.isCurrentSuspected)
        }
        #expect(order(pool) == "12")
    }

    @Test("one probe at a time tries the first server when due")
    func probe() throws {
        var pool = try pool(3, failuresBeforeSwitch: 1)
        try attempt(&pool, 1, .failed)
        #expect(trialOrder(pool, after: .seconds(599)) == "231")
        #expect(trialOrder(pool, after: .seconds(600)) == "123")
        #expect(order(pool, after: .seconds(600)) == "231")
        let client = try begin(&pool, pool.primary, after: .seconds(600))
        #expect(pool.end(client, .answered, now: now + .seconds(600)) == nil)
        let probe = try begin(&pool, pool.primary, isTrial: true, after: .seconds(600))
        #expect(trialOrder(pool, after: .seconds(600)) == "231")
        #expect(
            pool.end(probe, .answered, now: now + .seconds(600))
                == .returned(from: pool.servers[1])
        )
        #expect(order(pool, after: .seconds(600)) == "123")
    }

    @Test("a network change clears failures only")
    func network() throws {
        var pool = try pool(2)
        try attempt(&pool, 1, .failed, times: 3)
        try attempt(&pool, 2, .failed, times: 2)
        let old = try begin(&pool, pool.current)
        try attempt(&pool, 2, .limited(retryAfter: .seconds(60)))
        pool.networkChanged(now: now)
        #expect(pool.end(old, .failed, now: now) == nil)
        #expect(trialOrder(pool) == "12")
        #expect(pool.current == pool.servers[1])
        #expect(try attempt(&pool, 2, .failed, times: 2).isEmpty)
    }

    @Test("scheduled servers precede the configured ones")
    func scheduling() throws {
        var pool = try pool(2)
        let scheduled = try [7, 8].map { try server("192.0.2.\($0):443") }
        let old = try begin(&pool, pool.primary)
        pool.schedule(scheduled, now: now)
        #expect(order(pool) == "7812")
        #expect(pool.end(old, .failed, now: now) == nil)

        try attempt(&pool, 7, .failed, times: 3)
        pool.schedule([scheduled[1], pool.servers[2]], now: now)
        #expect(order(pool) == "812")
        try attempt(&pool, 8, .failed, times: 3)
        #expect(order(pool) == "128")
        pool.schedule([pool.current, scheduled[0]], now: now)
        #expect(pool.current == (try server("192.0.2.1:443")))
        pool.schedule([], now: now)
        #expect(order(pool) == "12")
    }

    @Test("a removed server gets no attempts")
    func gone() throws {
        var pool = try pool(1)
        let other = try server("192.0.2.7:443")
        pool.schedule([other], now: now)
        let attempt = try begin(&pool, other)
        pool.schedule([], now: now)
        #expect(pool.end(attempt, .failed, now: now) == nil)
        #expect(pool.order(now: now) != .servers([other]))
    }
}
