// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Clients with forged addresses that share a vendor with proven clients")
struct ForgedClientTests {
    let world = Simulation()

    @ServiceLoop
    private func flood(_ client: VendorClient, _ count: Int, _ round: Int = 0) async throws -> Int {
        let names = try (0..<count).map {
            try world.begin(client, "f\(round)-\($0).example.com", of: unproven($0))
        }
        var answered = 0
        for name in names {
            switch try await world.value(of: name) {
            case .success: answered += 1
            case .failure(let failure): #expect([.budget, .pace].contains(failure.reason.kind))
            }
        }
        return answered
    }

    @Test(
        "the reserve of proven clients decreases from a quarter of the budget to 0 during the day"
    )
    @ServiceLoop
    func budget() async throws {
        world.servers([:])
        await world.advance(by: .seconds(Budget.secondsLeft(wallSeconds: world.wallSeconds) + 1))
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 100) }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        #expect(try await flood(client, 200) == 75)
        await world.advance(by: .seconds(43_200))
        #expect(try await flood(client, 200, 1) == 12)
        for number in 0..<8 {
            _ = try await world.lookUp(client, "n\(number).example.com", of: network(1))
        }
        await world.advance(by: .seconds(Budget.secondsLeft(wallSeconds: world.wallSeconds) - 1))
        #expect(try await flood(client, 200, 2) == 4)
    }

    @Test("the reserve of proven clients decreases from a quarter of the budget during the month")
    @ServiceLoop
    func month() {
        var budget = Budget(
            Budget.Rule(unitsPerMonth: 1_000),
            vendor: "v",
            cheapest: 1,
            store: UsageMemory()
        )
        for (day, expected) in [(0, 750), (15, 121), (30, 121)] as [(Int64, Int)] {
            let wallSeconds = day * UsageRecord.secondsADay
            var spent = 0
            func next() -> ClientNetwork { unproven(Int(day) * 1_000 + spent) }
            while !budget.forbids(next(), yields: true, wallSeconds: wallSeconds) {
                let receipt = budget.spend(units: 1, by: next(), wallSeconds: wallSeconds)
                #expect(receipt != nil)
                spent += 1
            }
            #expect(spent == expected, "day \(day)")
        }
    }

    @Test("an unproven client may spend three quarters of the budget that is not reserved")
    @ServiceLoop
    func oneUnproven() async throws {
        world.servers([:])
        await world.advance(by: .seconds(Budget.secondsLeft(wallSeconds: world.wallSeconds) + 1))
        func spend(_ client: VendorClient, of network: ClientNetwork) async throws -> Int {
            var answered = 0
            for number in 0..<100 {
                let name = "\(network.isProven)\(number).example.com"
                let lookUp = try world.begin(client, name, of: network)
                if case .success = try await world.value(of: lookUp) { answered += 1 }
            }
            return answered
        }
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 100) }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        // 75 calls are not reserved, and the client gets about three quarters of them.
        let spent = try await spend(client, of: unproven(1))
        #expect((50...58).contains(spent), "\(spent)")
        #expect(try await spend(client, of: unproven(2)) > 0)
    }

    @Test("a proven client with many names cannot use the reserve of unproven clients")
    @ServiceLoop
    func manyProven() async throws {
        world.servers([:])
        await world.advance(by: .seconds(Budget.secondsLeft(wallSeconds: world.wallSeconds) + 1))
        for isRate in [true, false] {
            let client = try world.client {
                if isRate { $0.callsPerSecond = 100 }
                if !isRate { $0.budget = Budget.Rule(callsPerDay: 100) }
            }
            _ = try await world.lookUp(client, "first.example.com", of: unproven(1))
            _ = try await world.lookUp(client, "second.example.com", of: network(2))
            await world.advance(by: .seconds(2))
            let many = try (0..<200).map {
                try world.begin(client, "p\(isRate)\($0).example.com", of: network(1))
            }
            for name in many { _ = try await world.value(of: name) }
            #expect(try await flood(client, 10, isRate ? 1 : 2) == 10, "\(isRate)")
            _ = try await world.lookUp(client, "third.example.com", of: network(2))
        }
    }

    @Test(
        "without proven clients, other clients may use the whole budget and `calls-per-second`"
    )
    @ServiceLoop
    func alone() async throws {
        world.servers([:])
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 100) }
        #expect(try await flood(client, 200) == 100)
        let limited = try world.client { $0.callsPerSecond = 16 }
        #expect(try await flood(limited, 40) == 16)
    }

    @Test("a day after the last query of a proven client, other clients may spend the whole budget")
    @ServiceLoop
    func later() async throws {
        world.servers([:])
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 100) }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        await world.advance(by: .seconds(86_400))
        #expect(try await flood(client, 200) == 100)
    }

    @Test("after a restart, one unproven client cannot use the reserve of proven clients")
    @ServiceLoop
    func restart() async throws {
        world.servers([:])
        await world.advance(by: .seconds(Budget.secondsLeft(wallSeconds: world.wallSeconds) + 1))
        let usage = UsageMemory()
        func start() throws -> VendorClient {
            try world.client(usage: usage) {
                $0.budget = Budget.Rule(callsPerDay: 100)
                $0.callsPerSecond = 1_000
            }
        }
        let old = try start()
        _ = try await world.lookUp(old, "first.example.com", of: network(1))
        old.stop()
        let client = try start()
        var answered = 0
        for number in 0..<200 {
            let name = try world.begin(client, "n\(number).example.com", of: unproven(1))
            if case .success = try await world.value(of: name) { answered += 1 }
        }
        #expect((50...58).contains(answered), "\(answered)")
        #expect(client.shares.isReserved)
        #expect(try await flood(client, 200) + answered <= 75)
        for number in 0..<8 {
            _ = try await world.lookUp(client, "p\(number).example.com", of: network(1))
        }
    }

    @Test("unproven clients may use the whole `calls-per-second` on average, but 3/4 in a burst")
    @ServiceLoop
    func rate() async throws {
        world.servers([:])
        let client = try world.client { $0.callsPerSecond = 16 }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        await world.advance(by: .seconds(2))
        #expect(try await flood(client, 40) == 12)
        for number in 0..<2 {
            _ = try await world.lookUp(client, "n\(number).example.com", of: network(1))
        }
        await world.advance(by: .seconds(2))
        var answered = 0
        for round in 1...50 {
            answered += try await flood(client, 20, round)
            await world.advance(by: .milliseconds(180))
        }
        // The 50 rounds take about 10 s, in which the limit permits about 160 calls.
        #expect((150...180).contains(answered), "\(answered)")
        _ = try await world.lookUp(client, "last.example.com", of: network(1))
    }
}
