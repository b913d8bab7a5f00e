// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Health probes of a vendor")
struct VendorClientTrialTests {
    let world = Simulation()

    @ServiceLoop
    private func deadNames(_ step: Simulation.Step) {
        world.script = {
            namesAsked($0).contains { $0.hasPrefix("dead") } ? step : .reply(good($0))
        }
    }

    private static let bad: [(String, Simulation.Step)] = [
        ("silence", .silence()), ("silence on an old connection", .silence(reused: true)),
        ("5xx", .reply(HTTPReply(status: 502, body: []), after: .zero)),
        ("garbage", .reply(ok("<html>"), after: .zero)),
        ("another name", .reply(ok("www.example.org.:192.0.2.66,60-0"), after: .zero)),
        ("a reset", .fail(.broken("reset"))), ("429", tooMany()),
        ("429 for an hour", tooMany("3600")),
        ("403", .reply(HTTPReply(status: 403, body: []), after: .milliseconds(20))),
        ("401", .reply(HTTPReply(status: 401, body: []), after: .milliseconds(20))),
    ]

    private static func tooMany(_ retryAfter: String? = nil) -> Simulation.Step {
        var reply = HTTPReply(status: 429, body: [])
        reply.retryAfter = retryAfter
        return .reply(reply, after: .milliseconds(20))
    }

    @Test("a server that answers 429 to the probe is paused")
    @ServiceLoop
    func rateLimited() async throws {
        world.script = { _ in Self.tooMany() }
        let client = try world.client(servers: 1)
        for number in 0..<100 {
            _ = try await world.failure(client, "n\(number).example.com")
            await world.advance(by: .milliseconds(100))
        }
        guard case .limited = client.statistics.state else { throw Unexpected(what: "open") }
        #expect(world.sent.count <= 12, "\(world.sent.count) requests in 10 s")
    }

    @Test("once a pause has ended, a 429 for only one name starts no new pause")
    @ServiceLoop
    func rateLimitedNames() async throws {
        world.script = { _ in Self.tooMany() }
        let client = try world.client(servers: 1)
        _ = try await world.failure(client)
        await world.advance(by: .milliseconds(100))
        guard case .limited = client.statistics.state else { throw Unexpected(what: "open") }
        deadNames(Self.tooMany("3600"))
        await world.advance(by: .seconds(1))
        _ = try await world.failure(client, "dead.example.com")
        await world.advance(by: .milliseconds(50))
        #expect(client.statistics.state == .open)
        _ = try await world.lookUp(client)
    }

    @Test(
        "names with failed calls neither disable the vendor nor switch the vendor's current server",
        arguments: bad
    )
    @ServiceLoop
    func deadNames(label: String, step: Simulation.Step) async throws {
        deadNames(step)
        let client = try world.client()
        for number in 0..<40 {
            _ = try await world.failure(client, "dead\(number).example.com")
            #expect(!client.isSilent, "\(label)")
            let isUp = client.statistics.servers.allSatisfy { $0.failuresInRow == 0 }
            #expect(isUp, "\(label)")
        }
        #expect(client.statistics.switches == 0, "\(label)")
        #expect(client.statistics.state == .open)
        #expect(try await world.lookUp(client).duration == .milliseconds(20))
    }

    /// Returns the time that a queued name waits for the vendor before the daemon queries an
    /// upstream; nil if the vendor answers before this time.
    @ServiceLoop
    private func queueTime(
        vendor: (any Vendor)? = nil,
        isProtected: Bool = false
    ) async throws -> Duration? {
        let client = try world.client(vendor: vendor) { $0.concurrentCalls = 1 }
        _ = try world.begin(client, "dead.example.com")
        await world.advance(by: .milliseconds(100))
        return try await queueTime(of: client, isProtected: isProtected)
    }

    @ServiceLoop
    private func queueTime(of client: VendorClient, isProtected: Bool = false) async throws
        -> Duration?
    {
        let (name, start) = (try Name("www.example.com"), world.now)
        let successes = client.statistics.successes
        let good = try world.begin(client, "www.example.com", mayFallBack: true)
        let delay = Duration.milliseconds(400)
        await world.advance(by: delay)
        while let end = client.waitEnd(
            name,
            .both,
            parameters: nil,
            after: delay,
            isProtected: isProtected
        ) {
            await world.advance(by: end - world.now)
        }
        guard client.statistics.queued == 0, client.statistics.successes > successes else {
            return world.now - start
        }
        _ = try await world.value(of: good).get()
        return nil
    }

    @Test("a name that is queued behind an unanswered name is answered by the vendor")
    @ServiceLoop
    func queuedName() async throws {
        deadNames(.silence())
        #expect(try await queueTime() == nil)
    }

    @Test("after 800 ms behind an unanswered name, a queued name is sent to an encrypted upstream")
    @ServiceLoop
    func queuedNameOfProtected() async throws {
        deadNames(.silence())
        #expect(try await queueTime(isProtected: true) == .milliseconds(800))
    }

    @Test("after 800 ms in the queue of an unencrypted vendor, a name is sent to an upstream")
    @ServiceLoop
    func queuedNameOfPlain() async throws {
        deadNames(.silence())
        let vendor = try ClockedVendor(usesTLS: false)
        #expect(try await queueTime(vendor: vendor) == .milliseconds(800))
    }

    @Test("a name in the queue of a silent vendor is sent to an upstream after a failed probe")
    @ServiceLoop
    func queuedSilence() async throws {
        world.script = { _ in .silence() }
        let time = try #require(try await queueTime())
        // The probe begins 50 ms after the lookup, queries both servers, and takes 1.3 s.
        #expect(time == .milliseconds(1_400))
    }

    @Test("a queued name is not sent to a plain upstream while a probe is in flight")
    @ServiceLoop
    func queuedSlowness() async throws {
        world.script = {
            let isDead = namesAsked($0).contains { $0.hasPrefix("dead") }
            return isDead ? .silence() : .reply(good($0), after: .milliseconds(600))
        }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 1 }
        _ = try world.begin(client, "dead.example.com")
        await world.advance(by: .milliseconds(100))
        let name = try Name("www.example.com")
        _ = try world.begin(client, "www.example.com", mayFallBack: true)
        await world.advance(by: .milliseconds(400))
        #expect(client.trial != nil)
        func waitEnd(isProtected: Bool) -> Instant? {
            client.waitEnd(
                name,
                .both,
                parameters: nil,
                after: .milliseconds(400),
                isProtected: isProtected
            )
        }
        #expect(waitEnd(isProtected: false) == world.now + ClientLimits.queueCheck)
        #expect(waitEnd(isProtected: true) == nil)
    }

    @Test(
        "only a name without a protected fallback waits for a handshake, up to 1 s",
        arguments: [(300, false, 700), (300, true, 400), (2_000, false, 1_000), (0, false, 400)]
    )
    @ServiceLoop
    func handshake(handshake: Int, isProtected: Bool, end: Int) async throws {
        world.handshake = .milliseconds(handshake)
        world.script = { .reply(good($0), after: .milliseconds(1_500)) }
        let client = try world.client(servers: 1)
        let (name, start) = (try Name("www.example.com"), world.now)
        _ = try world.begin(client, "www.example.com", mayFallBack: true)
        await world.advance(by: .milliseconds(400))
        while let end = client.waitEnd(
            name,
            .both,
            parameters: nil,
            after: .milliseconds(400),
            isProtected: isProtected
        ) {
            await world.advance(by: end - world.now)
        }
        #expect(world.now - start == .milliseconds(end))
    }

    @Test("after an outage, a vendor is called again although a probe needs 1.4 s")
    @ServiceLoop
    func distantVendor() async throws {
        let client = try world.client(servers: 1)
        world.script = { _ in .silence(whileConnecting: true) }
        for number in 0..<20 where !client.isSilent {
            _ = try await world.failure(client, "n\(number).example.com")
        }
        #expect(client.isSilent)
        world.script = {
            .reply(good($0), after: .milliseconds($0.wantsFreshConnection ? 1_400 : 350))
        }
        for _ in 0..<50 where client.isSilent {
            client.beginTrial()
            await world.advance(by: .milliseconds(100))
        }
        #expect(!client.isSilent)
        for number in 0..<8 { _ = try await world.lookUp(client, "m\(number).example.com") }
        world.script = {
            let isDead = namesAsked($0).contains { $0.hasPrefix("dead") }
            let after = Duration.milliseconds($0.wantsFreshConnection ? 1_400 : 350)
            return isDead ? .silence() : .reply(good($0), after: after)
        }
        for number in 0..<10 {
            _ = try await world.failure(client, "dead\(number).example.com")
            #expect(client.isAvailable)
        }
    }

    @Test("a queued name gets its call even if the client of the call in flight has no budget left")
    @ServiceLoop
    func queuedBehindSpentClient() async throws {
        deadNames(.silence())
        let client = try world.client {
            $0.concurrentCalls = 1
            $0.budget = Budget.Rule(callsPerDay: 20)
        }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        for number in 0..<13 {
            _ = try await world.lookUp(client, "n\(number).example.com", of: network(1))
        }
        await world.advance(by: .seconds(5))
        _ = try world.begin(client, "dead.example.com", of: network(1))
        await world.advance(by: .milliseconds(10))
        #expect(client.spentBudget(of: network(1), world.now) == .clientBudget)
        #expect(try await queueTime(of: client) == nil)
        #expect(!world.trials.isEmpty, "the daemon is charged for probes")
    }

    @Test("if a vendor becomes silent just after a reply, a queued name is sent to an upstream")
    @ServiceLoop
    func queuedSilenceAfterReply() async throws {
        deadNames(.silence())
        let client = try world.client { $0.concurrentCalls = 2 }
        for name in ["dead1.example.com", "dead2.example.com", "queued.example.com"] {
            _ = try world.begin(client, name, mayFallBack: true)
        }
        await world.advance(by: .milliseconds(200))
        #expect(client.silence.hasReceived(since: world.now - .milliseconds(50)), "by a probe")
        world.script = { _ in .silence() }
        let time = try #require(try await queueTime(of: client))
        // The calls for the dead names end first; then the queued name has 400 ms for its call.
        #expect(time <= .milliseconds(2_500))
    }

    @Test("without `fallback-after`, queued names cause no probe")
    @ServiceLoop
    func queuedWithoutFallback() async throws {
        world.script = { .reply(good($0), after: .milliseconds(400)) }
        let client = try world.client { $0.concurrentCalls = 1 }
        let begun = try (0..<3).map { try world.begin(client, "n\($0).example.com") }
        for one in begun { _ = try await world.value(of: one).get() }
        #expect(world.trials.isEmpty)
    }

    @Test("failed calls cause at most one probe per second while the probes are answered")
    @ServiceLoop
    func rate() async throws {
        deadNames(.reply(HTTPReply(status: 502, body: []), after: .zero))
        let client = try world.client()
        for number in 0..<100 {
            _ = try await world.failure(client, "dead\(number).example.com")
            await world.advance(by: .milliseconds(100))
        }
        #expect((9...11).contains(world.trials.count))
        #expect(client.statistics.tries == UInt64(world.sent.count))
    }

    @Test("without failures, no probe is sent")
    @ServiceLoop
    func none() async throws {
        world.servers([:])
        let client = try world.client()
        for number in 0..<50 { _ = try await world.lookUp(client, "n\(number).example.com") }
        world.script = { .reply(good($0), after: .milliseconds(900)) }
        for number in 0..<5 { _ = try await world.lookUp(client, "s\(number).example.com") }
        #expect(world.trials.isEmpty)
    }

    @Test("an unreachable vendor is detected at the first timeout")
    @ServiceLoop
    func gone() async throws {
        world.script = { _ in .silence() }
        let client = try world.client(servers: 1) { $0.retriesBeforeSwitch = 1 }
        _ = try await world.failure(client)
        await world.advance(by: .milliseconds(1))
        #expect(world.elapsed <= .milliseconds(2_001))
        #expect(client.isSilent)
    }

    @Test("names that use up `calls-per-second` do not prevent a probe")
    @ServiceLoop
    func unpaced() async throws {
        world.script = { _ in Self.tooMany() }
        let client = try world.client(servers: 1) { $0.callsPerSecond = 2 }
        let begun = try (1...2).map { try world.begin(client, "n\($0).example.com") }
        for one in begun { _ = try await world.value(of: one) }
        await world.advance(by: .milliseconds(30))
        guard case .limited = client.statistics.state else { throw Unexpected(what: "open") }
        #expect(world.trials.count == 1)
        world.servers([:])
        client.networkChanged()
        #expect(try await world.failure(client).reason == .pace)
    }

    @Test("while the operator pauses the vendor, or if the budget is spent, no probe is sent")
    @ServiceLoop
    func obeys() async throws {
        world.script = { _ in .silence() }
        let poor = try world.client(servers: 1) {
            $0.budget = Budget.Rule(callsPerDay: 1)
            $0.timeout = .milliseconds(600)
        }
        _ = try await world.failure(poor, within: .seconds(1))
        let client = try world.client(servers: 1)
        let begun = try world.begin(client)
        await world.advance(by: .milliseconds(1))
        client.pause()
        _ = try await world.value(of: begun)
        #expect(world.trials.isEmpty)
    }

    @Test("a vendor that refuses only one name stays in use")
    @ServiceLoop
    func forbiddenName() async throws {
        let vendor = try DNSJSON(url: "https://dns.example/resolve")
        let client = try world.client(vendor: vendor)
        world.script = { request in
            guard !request.url.contains("name=dead") else {
                return .reply(HTTPReply(status: 403, body: []), after: .zero)
            }
            return .reply(ok(#"{"Status":0}"#))
        }
        _ = try? await world.lookUp(client, "dead.example.com", families: .v4)
        await world.advance(by: .seconds(1))
        #expect(client.statistics.state == .open)
        #expect(world.sent.last?.request.url.contains("name=dns.example&") == true)

        world.script = { _ in .reply(HTTPReply(status: 403, body: []), after: .zero) }
        _ = try? await world.lookUp(client, "www.example.com", families: .v4)
        await world.advance(by: .seconds(1))
        #expect(client.statistics.state != .open)
    }

    @Test("a clock offset of years is ignored and reported once")
    @ServiceLoop
    func clock() async throws {
        var notices: [VendorClient.Notice] = []
        world.script = { _ in
            var reply = HTTPReply(status: 403, body: [])
            reply.date = "Fri, 01 Jan 2100 00:00:00 GMT"
            return .reply(reply, after: .zero)
        }
        let client = try world.client(vendor: ClockedVendor())
        client.observer = { notices.append($0) }
        _ = try await world.failure(client)
        #expect(world.sent.count { namesAsked($0.request) == ["www.example.com"] } == 2)
        #expect(client.statistics.clockSkew == nil)
        #expect(client.statistics.refusedClockSkew == .seconds(2_402_444_800))
        #expect(notices.first == .clockRefused(2_402_444_800, limit: 86_400))
    }

    @Test("a clock correction ends when the vendor accepts a request without the correction")
    @ServiceLoop
    func clockIsRight() async throws {
        var ahead: Int64 = 3_600
        world.script = { [self] request in
            guard request.headers != ["\(world.clocks.wallSeconds() + ahead)"] else {
                return .reply(good(request), after: .zero)
            }
            var reply = HTTPReply(status: 403, body: [])
            let isLater = world.elapsed >= .seconds(600)
            reply.date = "Tue, 14 Nov 2023 23:\(isLater ? "23" : "13"):20 GMT"
            return .reply(reply, after: .zero)
        }
        let client = try world.client(vendor: ClockedVendor())
        _ = try await world.lookUp(client)
        #expect(client.statistics.clockSkew == .seconds(3_600))
        await world.advance(by: .seconds(600))
        _ = try await world.lookUp(client)
        #expect(client.statistics.clockSkew == .seconds(3_600))
        ahead = 0
        await world.advance(by: .seconds(600))
        _ = try await world.lookUp(client)
        #expect(client.statistics.clockSkew == nil)
        #expect(client.statistics.state == .open)
    }
}
