// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Clients that share a vendor")
struct ClientShareTests {
    let world = Simulation()

    @ServiceLoop
    private func deadNames() {
        world.script = { request in
            namesAsked(request).contains { $0.hasPrefix("dead") }
                ? .silence() : .reply(good(request))
        }
    }

    @ServiceLoop
    @discardableResult
    private func begin(
        _ prefix: String,
        _ count: Int,
        of number: UInt32,
        _ client: VendorClient
    ) throws -> [Begun] {
        try (0..<count).map {
            try world.begin(client, "\(prefix)-\(number)-\($0).example.com", of: network(number))
        }
    }

    @Test(
        "two clients that query unanswered names do not delay a third client",
        arguments: [4, 32],
        VendorClient.Batching.allCases
    )
    @ServiceLoop
    func thirdClient(calls: Int, batching: VendorClient.Batching) async throws {
        deadNames()
        let client = try world.client {
            $0.concurrentCalls = calls
            $0.batching = batching
        }
        for number: UInt32 in 1...2 { try begin("dead", 500, of: number, client) }
        await world.advance(by: .milliseconds(1))
        var slowest = Duration.zero
        for round in 0..<40 {
            let name = "good\(round).example.com"
            let reply = try await world.lookUp(client, name, of: network(3))
            slowest = max(slowest, reply.duration)
            await world.advance(by: .milliseconds(100))
        }
        #expect(slowest == .milliseconds(20))
        let burst = try begin("good", 40, of: 4, client)
        for one in burst { _ = try await world.value(of: one).get() }
    }

    @Test(
        "slow names of clients with forged addresses do not delay a proven client",
        arguments: [4, 32]
    )
    @ServiceLoop
    func forged(calls: Int) async throws {
        deadNames()
        let client = try world.client { $0.concurrentCalls = calls }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        var slowest = Duration.zero
        for round in 0..<400 {
            _ = try world.begin(client, "dead\(round).example.com", of: unproven(round))
            await world.advance(by: .milliseconds(5))
            guard round % 10 == 9 else { continue }
            let reply = try await world.lookUp(client, "good\(round).example.com", of: network(1))
            slowest = max(slowest, reply.duration)
        }
        #expect(slowest == .milliseconds(20))
        #expect(client.statistics.inFlight == calls / 2)
    }

    @Test("large replies limit the calls of a client only if another client uses the vendor")
    @ServiceLoop
    func largeReplies() async throws {
        world.script = { request in
            namesAsked(request).contains { $0.hasPrefix("large") }
                ? .fail(.bodyTooLarge(limit: 65_536)) : .reply(good(request))
        }
        let client = try world.client { $0.concurrentCalls = 32 }
        for (prefix, isLimited) in [("first", false), ("second", true)] {
            if isLimited {
                _ = try await world.lookUp(client, "other.example.com", of: network(2))
            }
            _ = try await world.failure(client, "large-\(prefix).example.com", of: network(1))
            let burst = try begin(prefix, 10, of: 1, client)
            await world.advance(by: .milliseconds(1))
            #expect((client.statistics.queued > 0) == isLimited)
            for one in burst { _ = try await world.value(of: one).get() }
        }
    }

    @Test("a client that has filled its part of the queue does not delay another client")
    @ServiceLoop
    func pinned() async throws {
        deadNames()
        let client = try world.client { $0.concurrentCalls = 4 }
        try begin("dead", 500, of: 1, client)
        let pinned = try world.begin(client, "www.example.com", of: network(1))
        await world.advance(by: .milliseconds(50))
        #expect(client.statistics.queued == 499)
        let joined = try await world.lookUp(client, of: network(2))
        #expect(joined.duration == .milliseconds(20))
        _ = try await world.value(of: pinned).get()
        #expect(world.sent.count { namesAsked($0.request) == ["www.example.com"] } == 1)
    }

    @Test("a queued name is sent earlier if a second client queries the name")
    @ServiceLoop
    func joins() async throws {
        deadNames()
        let client = try world.client { $0.concurrentCalls = 4 }
        try begin("dead", 500, of: 1, client)
        let pinned = try world.begin(client, "www.example.com", of: network(1))
        await world.advance(by: .milliseconds(50))
        client.join(try Name("www.example.com"), .v4, of: network(2))
        #expect(try await world.value(of: pinned).get().duration == .milliseconds(70))
        client.join(try Name("unknown.example.com"), .v4, of: network(2))
        #expect(client.statistics.queued == 498 || client.statistics.queued == 499)
    }

    @Test("if a client has used up its calls, its queued names fail at their deadlines")
    @ServiceLoop
    func deadline() async throws {
        deadNames()
        let client = try world.client { $0.concurrentCalls = 4 }
        try begin("dead", 2, of: 1, client)
        let failure = try await world.failure(client, of: network(1), within: .milliseconds(200))
        #expect(failure == VendorFailure(reason: .clientBusy))
        #expect(world.elapsed == .milliseconds(200))
    }

    @Test("if other clients use all calls, the error is `busy`, not `clientBusy`")
    @ServiceLoop
    func allCalls() async throws {
        deadNames()
        let client = try world.client { $0.concurrentCalls = 4 }
        for number: UInt32 in 1...4 { try begin("dead", 1, of: number, client) }
        let failure = try await world.failure(client, of: network(5), within: .milliseconds(200))
        #expect(failure == VendorFailure(reason: .busy, isCrowded: true))
        let other = try await world.failure(client, of: network(4), within: .milliseconds(200))
        #expect(other == VendorFailure(reason: .clientBusy, isCrowded: true))
    }

    @Test(
        "`isCrowded` is false if the client has used up its calls and other clients have few calls",
        arguments: [[2], [2, 3], [nil], [nil, nil, nil, 2]] as [[UInt32?]]
    )
    @ServiceLoop
    func fewCallsOfOthers(others: [UInt32?]) async throws {
        deadNames()
        let client = try world.client()
        for (number, other) in others.enumerated() {
            _ = try world.begin(client, "dead\(number).example.com", of: other.map(network))
        }
        try begin("dead", 40, of: 1, client)
        #expect(client.shares.count(of: network(1)) < 16)
        let failure = try await world.failure(client, of: network(1), within: .milliseconds(200))
        #expect(failure == VendorFailure(reason: .clientBusy))
    }

    @Test("`isCrowded` is true if all other clients together have more calls than the client")
    @ServiceLoop
    func manyCallsOfOthers() async throws {
        deadNames()
        let client = try world.client()
        for number: UInt32 in 2...20 { try begin("dead", 1, of: number, client) }
        try begin("dead", 40, of: 1, client)
        let failure = try await world.failure(client, of: network(1), within: .milliseconds(200))
        #expect(failure == VendorFailure(reason: .clientBusy, isCrowded: true))
    }

    @Test("one of several clients may spend three quarters of the budget")
    @ServiceLoop
    func budget() async throws {
        world.servers([:])
        let rule = Budget.Rule(callsPerDay: 100)
        let client = try world.client { $0.budget = rule }
        var notices: [VendorClient.Notice] = []
        client.observer = { notices.append($0) }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        var answered = 0
        for number in 0..<200 {
            let one = try world.begin(client, "n\(number).example.com", of: network(1))
            switch try await world.value(of: one) {
            case .success: answered += 1
            case .failure(let failure):
                #expect(failure == VendorFailure(reason: .clientBudget))
            }
        }
        #expect(answered == 74)
        #expect(notices == [.shareSpent(rule)])
        #expect(client.statistics.state == .open)
        #expect(client.statistics.beyondBudget == 126)
        for one in try begin("n", 10, of: 2, client) { _ = try await world.value(of: one).get() }
        await world.advance(by: .seconds(86_400))
        _ = try await world.lookUp(client, "next.example.com", of: network(1))
    }

    @Test("in a shared budget, the limit of a client depends on the budget of all machines")
    @ServiceLoop
    func sharedBudget() async throws {
        world.servers([:])
        let rule = Budget.Rule(callsPerDay: 100, isShared: true)
        let client = try world.client { $0.budget = rule }
        client.shareBudget { record in
            let used = record.callsToday
            return Budget.Part(
                limits: Budget.Limits([min(100, used + 10), nil, nil]),
                left: Budget.Limits([100 - min(100, used), nil, nil])
            )
        }
        var notices: [VendorClient.Notice] = []
        client.observer = { notices.append($0) }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        var answered = 0
        for number in 0..<200 {
            let one = try world.begin(client, "n\(number).example.com", of: network(1))
            if case .success = try await world.value(of: one) { answered += 1 }
        }
        #expect((73...74).contains(answered), "\(answered)")
        #expect(notices == [.shareSpent(rule)])
    }

    @Test("a single client, or the daemon, may spend the whole budget")
    @ServiceLoop
    func alone() async throws {
        world.servers([:])
        for asker in [network(1), nil] {
            let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 10) }
            if asker != nil {
                _ = try await world.lookUp(client, "other.example.com", of: network(2))
                await world.advance(by: .seconds(86_400))
            }
            for number in 0..<10 {
                _ = try await world.lookUp(client, "n\(number).example.com", of: asker)
            }
            let failure = try await world.failure(client, "n.example.com", of: asker)
            #expect(failure.reason == .budget)
        }
    }

    @Test("after a restart, only a vendor with several clients limits one client")
    @ServiceLoop
    func restart() async throws {
        world.servers([:])
        for other: UInt32 in 1...2 {
            let usage = UsageMemory()
            func start() throws -> VendorClient {
                try world.client(usage: usage) { $0.budget = Budget.Rule(callsPerDay: 11) }
            }
            let old = try start()
            _ = try await world.lookUp(old, "first.example.com", of: network(other))
            old.stop()
            let client = try start()
            for number in 0..<20 {
                let name = try world.begin(client, "n\(number).example.com", of: network(1))
                _ = try await world.value(of: name)
            }
            let isAlone = other == 1
            #expect(client.budgetUse()?.callsToday == (isAlone ? 11 : 8))
        }
    }

    @Test("a budget with `on-exceeded: warn` has no limit per client")
    @ServiceLoop
    func warns() async throws {
        world.servers([:])
        let client = try world.client {
            $0.budget = Budget.Rule(callsPerDay: 10, onExceeded: .warn)
        }
        _ = try await world.lookUp(client, "other.example.com", of: network(2))
        for one in try begin("n", 30, of: 1, client) { _ = try await world.value(of: one).get() }
    }

    @Test("with no budget left, a client's queued name is sent only if another client needs it")
    @ServiceLoop
    func spentWhileQueued() async throws {
        world.script = { request in
            request.url.contains("slow") && digit(request) == 1
                ? .silence() : .reply(good(request))
        }
        let client = try world.client {
            $0.budget = Budget.Rule(callsPerDay: 9)
            $0.concurrentCalls = 1
        }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        for number in 0..<4 {
            _ = try await world.lookUp(client, "n\(number).example.com", of: network(1))
        }
        let slow = try world.begin(client, "slow.example.com", of: network(3))
        await world.advance(by: .milliseconds(1))
        let own = try world.begin(client, "own.example.com", of: network(1))
        let common = try world.begin(client, "common.example.com", of: network(1))
        await world.advance(by: .milliseconds(1))
        client.join(try Name("common.example.com"), .both, of: network(2))
        #expect(client.statistics.queued == 2)
        _ = try await world.value(of: slow).get()
        guard case .failure(let failure) = try await world.value(of: own) else {
            throw Unexpected(what: "an answer")
        }
        #expect(failure.reason == .clientBudget)
        _ = try await world.value(of: common).get()
    }

    @Test("a probe counts against the budget of the client that causes the probe")
    @ServiceLoop
    func probes() async throws {
        deadNames()
        let client = try world.client(servers: 1) { $0.budget = Budget.Rule(callsPerDay: 100) }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        for number in 0..<120 {
            _ = try await world.failure(client, "dead\(number).example.com", of: network(1))
            await world.advance(by: .seconds(1))
        }
        #expect(world.trials.count > 30)
        #expect((70...76).contains(world.sent.count), "\(world.sent.count) requests")
        #expect(client.statistics.state == .open)
    }

    @Test("the number of clients in the budget's table is limited")
    @ServiceLoop
    func manyClients() throws {
        var budget = Budget(
            Budget.Rule(callsPerDay: 100_000),
            vendor: "v",
            cheapest: 1,
            store: UsageMemory()
        )
        var last: Budget.Receipt?
        let askers = Array(repeating: network(0), count: 80_000) + (1...5_000).map { network($0) }
        for asker in askers {
            last = budget.spend(units: 1, by: asker, wallSeconds: 0)
            #expect(last != nil)
        }
        #expect(budget.forbids(network(0), yields: false, wallSeconds: 0) == true)
        #expect(budget.forbids(network(5_001), yields: false, wallSeconds: 0) == false)
        #expect(budget.clientCount <= ClientLimits.countedClients)
        budget.settle(try #require(last), actual: .none, wallSeconds: 0)
        #expect(budget.usage(wallSeconds: 0)?.callsToday == 84_999)
    }

    @ServiceLoop
    private func spendAll(_ budget: inout Budget, of client: ClientNetwork, onDay day: Int64) -> Int
    {
        let wallSeconds = day * UsageRecord.secondsADay
        var spent = 0
        while !budget.forbids(client, yields: false, wallSeconds: wallSeconds),
            budget.spend(units: 1, by: client, wallSeconds: wallSeconds) != nil
        {
            spent += 1
        }
        return spent
    }

    @Test("the limit of a client in a monthly budget is the same on each day of the month")
    @ServiceLoop
    func month() {
        var budget = Budget(
            Budget.Rule(unitsPerMonth: 1_000),
            vendor: "v",
            cheapest: 1,
            store: UsageMemory()
        )
        #expect((0..<31).map { spendAll(&budget, of: network(1), onDay: $0) }.reduce(0, +) == 750)
        #expect(spendAll(&budget, of: network(2), onDay: 30) == 187)
        #expect(spendAll(&budget, of: network(1), onDay: 31) == 750)
    }

    @Test("a client may use its daily limit on each day until it reaches its monthly limit")
    @ServiceLoop
    func dayAndMonth() {
        var budget = Budget(
            Budget.Rule(unitsPerDay: 100, unitsPerMonth: 400),
            vendor: "v",
            cheapest: 1,
            store: UsageMemory()
        )
        let days = (0..<6).map { spendAll(&budget, of: network(1), onDay: $0) }
        #expect(days == [75, 75, 75, 75, 0, 0])
    }

    @Test("a client with many names leaves calls for other clients")
    @ServiceLoop
    func rate() async throws {
        world.servers([:])
        let client = try world.client { $0.callsPerSecond = 16 }
        _ = try await world.lookUp(client, "first.example.com", of: network(2))
        await world.advance(by: .seconds(1))
        var answered = 0
        for round in 0..<100 {
            let flood = try (0..<20).map {
                try world.begin(client, "f\(round)-\($0).example.com", of: network(1))
            }
            if round % 25 == 24 {
                _ = try await world.lookUp(client, "n\(round).example.com", of: network(2))
            }
            for one in flood {
                switch try await world.value(of: one) {
                case .success: answered += 1
                case .failure(let failure): #expect(failure.reason.kind == .pace)
                }
            }
            await world.advance(by: .milliseconds(80))
        }
        #expect(answered > 120 && answered < 180, "\(answered) calls in 10 s")
    }

    @Test("a single client may use all of `calls-per-second`")
    @ServiceLoop
    func wholeRate() async throws {
        world.servers([:])
        let client = try world.client { $0.callsPerSecond = 4 }
        for one in try begin("n", 4, of: 1, client) { _ = try await world.value(of: one).get() }
        #expect(try await world.failure(client, of: network(1)).reason == .pace)
    }
}
