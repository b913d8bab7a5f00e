// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Billed units")
struct PriceModelTests {
    private let names = ["a.example.com", "b.example.com"].compactMap { try? Name($0) }
    private let full = AddressSet(addresses: [.v4(IPv4Address(value: 0xC000_0201))], ttl: 60)
    private let unusable = AddressSet(addresses: [], ttl: 60, dropped: 1)

    private func answer(_ index: Int, v4: AddressSet?, v6: AddressSet? = nil) -> VendorAnswer {
        VendorAnswer(name: names[index], v4: v4, v6: v6)
    }

    private func units(_ model: PriceModel, _ fate: PriceModel.Fate) -> [UnitRange] {
        model.units(of: VendorQuery(names: names, families: .both), fate)
    }

    @Test("for a vendor that bills families, each family with an address is billed")
    func families() {
        let model = PriceModel(.family, weight: 5, emptyIsFree: true)
        let answers = [answer(0, v4: full, v6: full), answer(1, v4: full, v6: AddressSet.none)]
        #expect(units(model, .answered(answers)) == [UnitRange(10), UnitRange(5)])
        #expect(units(model, .answered([answer(0, v4: AddressSet.none)])) == [.zero, .zero])
        #expect(model.total(VendorQuery(names: names, families: .both)) == 20)
        #expect(model.total(VendorQuery(names: names, families: .v4)) == 10)
    }

    @Test(
        "the maximum cost of a call is the sum of the maximum costs of its names",
        arguments: [0, 1, 2],
        [Families.v4, .both]
    )
    func total(count: Int, families: Families) {
        let query = VendorQuery(names: Array(names.prefix(count)), families: families)
        for item in [PriceModel.Item.request, .name, .family] {
            let model = PriceModel(item, weight: 5)
            #expect(
                model.total(query) == model.units(of: query, .unknown).reduce(0) { $0 + $1.atMost }
            )
        }
    }

    @Test("an address that the daemon drops is billed")
    func dropped() {
        let model = PriceModel(.family, weight: 3, emptyIsFree: true)
        #expect(units(model, .answered([answer(0, v4: unusable)])) == [UnitRange(3), .zero])
    }

    @Test("if the price page does not mention empty answers, their cost is 0 to `weight` units")
    func silentPage() {
        let ofNames = PriceModel(.name, weight: 5)
        let answers = [answer(0, v4: full), answer(1, v4: AddressSet.none)]
        #expect(
            units(ofNames, .answered(answers)) == [UnitRange(5), UnitRange(atLeast: 0, atMost: 5)]
        )
        let ofRequests = PriceModel(.request)
        #expect(units(ofRequests, .answered(answers)) == [UnitRange(1), .zero])
        let empty = [answer(0, v4: AddressSet.none), answer(1, v4: AddressSet.none)]
        #expect(
            units(ofRequests, .answered(empty)) == [UnitRange(atLeast: 0, atMost: 1), .zero]
        )
    }

    @Test("units beyond the free units cost money, and an empty answer may be free")
    func marginalCost() {
        let model = PriceModel(
            .family,
            weight: 5,
            emptyIsFree: true,
            freePerMonth: 100,
            price: PriceModel.Price(per10000: 10, "CNY")
        )
        #expect(model.cost(of: 10, after: 50)?.amount == 0)
        #expect(model.cost(of: 10, after: 95)?.amount == 0.005)
        #expect(model.cost(of: 10, after: 100)?.amount == 0.01)
        #expect(PriceModel.unknown.cost(of: 10, after: 0) == nil)
        #expect(model.maximum(isEmpty: false) == 5 && model.maximum(isEmpty: true) == 0)
        #expect(PriceModel.unknown.maximum(isEmpty: true) == 1)
    }

    @Test("a request without a reply costs from 0 to all units; a refused request costs nothing")
    func fates() {
        let model = PriceModel(.family, weight: 8, emptyIsFree: true)
        let unknown = UnitRange(atLeast: 0, atMost: 16)
        #expect(units(model, .unknown) == [unknown, unknown])
        #expect(units(model, .free) == [.zero, .zero])
    }

    @Test("free units of the month cost nothing")
    func cost() {
        var model = PriceModel(
            .request,
            freePerMonth: 1_000,
            price: PriceModel.Price(per10000: 0.04, "CNY")
        )
        #expect(model.cost(ofMonth: 900) == PriceModel.Price(per10000: 0, "CNY"))
        #expect(model.cost(ofMonth: 251_000) == PriceModel.Price(per10000: 1, "CNY"))
        model.price = nil
        #expect(model.cost(ofMonth: 251_000) == nil)
    }

    @Test("a day number is converted to the month of the Gregorian calendar")
    func months() {
        // The days are 2024-02-29, 2024-03-01, 2000-12-31, 2001-01-01, 1970-01-01 and 1969-12-31.
        let days: [(Int64, Int64)] = [
            (19_782, 2024 * 12 + 1), (19_783, 2024 * 12 + 2), (11_322, 2000 * 12 + 11),
            (11_323, 2001 * 12), (0, 1970 * 12), (-1, 1969 * 12 + 11),
        ]
        for (day, month) in days { #expect(UsageRecord.month(of: day) == month) }
        #expect(UsageRecord.day(-1) == -1)
        #expect(UsageRecord.day(86_399) == 0)
    }
}

@Suite("Families of a call")
struct FamilyChoiceTests {
    let world = Simulation()

    @Test("a call to a vendor that bills families requests only the family of the client's query")
    @ServiceLoop
    func demand() throws {
        let name = try Name("a.example.com")
        func families(
            _ price: PriceModel,
            _ setting: FamilyChoice,
            route: FamilyChoice? = nil
        ) throws -> Families {
            let client = try world.client {
                $0.price = price
                $0.families = setting
            }
            return client.families(name, wanted: .v6, route, now: world.now)
        }
        let perFamily = PriceModel(.family, emptyIsFree: true)
        #expect(try families(perFamily, .automatic) == .v6)
        #expect(try families(perFamily, .both) == .both)
        #expect(try families(perFamily, .v4) == .v6)
        #expect(try families(perFamily, .both, route: .automatic) == .v6)
        #expect(try families(PriceModel(.request), .automatic) == .both)
        #expect(try families(PriceModel(.request), .v6) == .v6)
    }

    @Test("`unitsForV6` counts the units of AAAA only if the vendor bills families")
    @ServiceLoop
    func unitsForV6() async throws {
        world.servers([:])
        for (item, units) in [(PriceModel.Item.family, UInt64(5)), (.request, 0)] {
            let client = try world.client {
                $0.price = PriceModel(item, weight: 5)
                $0.families = .both
            }
            _ = try await world.lookUp(client)
            #expect(client.statistics.unitsForV6 == units)
        }
    }

    @Test("the queried families of a name are stored for an hour, or until the table is full")
    func memory() throws {
        var demand = FamilyDemand(limit: 2)
        let start = Instant(nanoseconds: 0)
        let names = try (0..<6).map { try Name("n\($0).example.com") }
        demand.note(names[0], .v4, now: start)
        #expect(!demand.includes(names[0], .both, now: start))
        demand.note(names[0], .v6, now: start)
        #expect(demand.includes(names[0], .both, now: start))
        #expect(!demand.includes(names[0], .both, now: start + .seconds(3_600)))
        for name in names[1...] { demand.note(name, .both, now: start) }
        #expect(!demand.includes(names[0], .v4, now: start))
        #expect(demand.includes(names[5], .both, now: start))
    }
}
