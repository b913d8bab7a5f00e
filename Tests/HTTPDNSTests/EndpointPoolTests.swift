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

    @Test(
        "the order of the servers alternates between IPv4 and IPv6, with the current server first"
    )
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

    @Test("an answer, even a late answer, resets the count of failures")
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

    @Test("many failures at the same time cause only one switch")
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

    @Test("after failures of the last server, the first server is current again")
    func round() throws {
        var pool = try pool(3, failuresBeforeSwitch: 1)
        #expect(try (1...3).flatMap { try attempt(&pool, $0, .failed) }.count == 3)
        #expect(order(pool) == "123")
        #expect(pool.returnAt == nil)
        var single = try self.pool(1)
        #expect(try attempt(&single, 1, .failed, times: 10).isEmpty)
    }

    @Test("a failed call for a client's name is a server failure only if a later probe fails")
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

    @Test("calls for names without an answer cause no switch while the server answers probes")
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

    @Test("when a check of the first server is due, the next probe queries this server first")
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

    @Test("a network change clears failures and pauses, but keeps the current server")
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

    private func scheduled(_ digits: Int...) throws -> [SocketAddress] {
        try digits.map { try server("192.0.2.\($0):443") }
    }

    @discardableResult
    private func trial(
        _ pool: inout EndpointPool,
        _ digit: Int,
        _ outcome: EndpointPool.Outcome,
        after time: Duration = .zero
    ) throws -> EndpointPool.Change? {
        let server = try server("192.0.2.\(digit):443")
        let attempt = try begin(&pool, server, isTrial: true, after: time)
        return pool.end(attempt, outcome, now: now + time)
    }

    @Test("the first scheduled server that answers a probe becomes current")
    func scheduling() throws {
        var pool = try pool(2)
        let old = try begin(&pool, pool.primary)
        #expect(pool.schedule(try scheduled(7, 8), now: now))
        #expect(order(pool) == "1278")
        #expect(trialOrder(pool) == "7812")
        #expect(pool.end(old, .failed, now: now) == nil)
        let one = try server("192.0.2.1:443")
        #expect(try trial(&pool, 7, .answered) == .returned(from: one))
        #expect(order(pool) == "7182")
        #expect(pool.returnAt == nil)

        #expect(try !pool.schedule(scheduled(7, 8), now: now), "an equal list")
        #expect(try !pool.schedule(scheduled(8, 7), now: now), "a list with the current server")
        #expect(order(pool) == "7182")
        #expect(try pool.schedule(scheduled(9), now: now))
        #expect(order(pool) == "129")
        #expect(trialOrder(pool) == "912")
        #expect(try !pool.schedule(scheduled(1, 9), now: now), "a list with a configured server")
        #expect(order(pool) == "129")
        let isCheckDue = pool.schedule([], now: now)
        #expect(!isCheckDue)
        #expect(order(pool) == "12")
    }

    @Test("a scheduled server that answers a probe becomes current while another server is silent")
    func secondScheduled() throws {
        var pool = try pool(1)
        try pool.schedule(scheduled(7, 8, 9), now: now)
        let silent = try begin(&pool, server("192.0.2.7:443"), isTrial: true)
        #expect(try trial(&pool, 8, .answered) == .returned(from: server("192.0.2.1:443")))
        #expect(pool.end(silent, .failed, now: now) == nil)
        #expect(order(pool) == "8197")
    }

    @Test(
        "while all scheduled servers are silent, each check probes the next two servers of the list"
    )
    func silentList() throws {
        var pool = try pool(2)
        try pool.schedule(scheduled(6, 7, 8, 9), now: now)
        for (minutes, checked) in [(0, [6, 7]), (10, [8, 9]), (20, [6, 7])] {
            let time = Duration.seconds(minutes * 60)
            #expect(trialOrder(pool, after: time).hasPrefix("\(checked[0])\(checked[1])"))
            for digit in checked { try trial(&pool, digit, .failed, after: time) }
            #expect(order(pool).hasPrefix("12"))
            #expect(trialOrder(pool, after: time + .seconds(599)).hasPrefix("12"))
        }
    }

    @Test(
        "a configured server replaces a failed scheduled server, until a scheduled server answers"
    )
    func deadScheduled() throws {
        var pool = try pool(2)
        try pool.schedule(scheduled(7, 8), now: now)
        try trial(&pool, 7, .answered)
        let seven = try server("192.0.2.7:443")
        let one = try server("192.0.2.1:443")
        #expect(try attempt(&pool, 7, .failed, times: 2).isEmpty)
        #expect(try trial(&pool, 7, .failed) == .switched(from: seven, to: one))
        #expect(order(pool) == "1287")
        #expect(trialOrder(pool) == "8712")
        #expect(try trial(&pool, 8, .answered) == .returned(from: one))
        #expect(order(pool) == "8127")
    }

    @Test("if the configured servers fail, a scheduled server becomes current")
    func deadConfigured() throws {
        var pool = try pool(2)
        try pool.schedule(scheduled(7, 8), now: now)
        for digit in [7, 8] { try trial(&pool, digit, .failed) }
        try attempt(&pool, 1, .failed, times: 3)
        #expect(order(pool).hasPrefix("27"))
        try attempt(&pool, 2, .failed, times: 3)
        #expect(order(pool) == "7182", "the server that failed first")
        try attempt(&pool, 7, .failed, times: 3)
        try attempt(&pool, 8, .answered)
        #expect(order(pool).hasPrefix("18"))
    }

    @Test("a server that returned 429 is not checked during its pause")
    func pausedPrimary() throws {
        var pool = try pool(2, failuresBeforeSwitch: 1)
        try attempt(&pool, 1, .limited(retryAfter: .seconds(3_600)))
        try attempt(&pool, 1, .failed, after: .seconds(3_600))
        try attempt(&pool, 1, .limited(retryAfter: .seconds(3_600)), after: .seconds(3_600))
        #expect(!pool.isReturnDue(now + .seconds(7_199)))
        #expect(pool.isReturnDue(now + .seconds(7_200)))
    }

    @Test("a server that the scheduling service no longer lists gets no attempts")
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
