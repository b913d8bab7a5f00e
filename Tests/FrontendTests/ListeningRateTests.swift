// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Frontend

@Suite("Response rate limit per client network")
struct ListeningRateTests {
    private let epoch = Instant(nanoseconds: 0)

    private static func v4(_ last: UInt32) -> IPAddress {
        .v4(IPv4Address(value: 0xC000_0200 + last))
    }

    private static func v6(_ network: UInt64, _ host: UInt64) -> IPAddress {
        .v6(IPv6Address(high: 0x2001_0DB8_0000_0000 + network, low: host))
    }

    private func ask(
        _ limit: RateLimit,
        _ address: IPAddress,
        _ count: Int,
        after time: Duration = .zero,
        perSecond: Int = 10
    ) -> [RateLimit.Decision] {
        (0..<count).map { _ in
            limit.decision(on: address, perSecond: perSecond, now: epoch + time)
        }
    }

    @Test
    func `beyond the limit, every second query gets a truncated reply, and the others get none`() {
        let limit = RateLimit(now: epoch)
        let verdicts = ask(limit, Self.v4(1), 14)
        #expect(verdicts.prefix(10).allSatisfy { $0 == .passes })
        #expect(verdicts.dropFirst(10) == [.truncated, .dropped, .truncated, .dropped])
    }

    @Test
    func `tokens are added over time, up to the tokens of one second`() {
        let limit = RateLimit(now: epoch)
        _ = ask(limit, Self.v4(1), 10)
        let soon = ask(limit, Self.v4(1), 3, after: .milliseconds(200))
        #expect(soon.count { $0 == .passes } == 2)
        let late = ask(limit, Self.v4(1), 30, after: .seconds(86_400))
        #expect(late.count { $0 == .passes } == 10)
    }

    @Test
    func `rejected queries use no tokens`() {
        let limit = RateLimit(now: epoch)
        _ = ask(limit, Self.v4(1), 100_000)
        #expect(ask(limit, Self.v4(1), 10, after: .seconds(1)).allSatisfy { $0 == .passes })
    }

    @Test
    func `a flood from one network does not limit other networks`() {
        let limit = RateLimit(now: epoch)
        _ = ask(limit, Self.v4(0), 100)
        let others = (1...200).map { ask(limit, Self.v4($0), 1) }
        #expect(others.count { $0 == [.passes] } > 190)
    }

    @Test
    func `an IPv6 network is a /64, and a mapped address counts as IPv4`() {
        let limit = RateLimit(now: epoch)
        let hosts = (0..<11).map { limit.decision(on: Self.v6(7, $0), perSecond: 10, now: epoch) }
        #expect(hosts.count { $0 == .passes } == 10)
        _ = ask(limit, Self.v4(1), 10)
        let mapped = IPAddress.v6(IPv6Address(high: 0, low: 0xFFFF_C000_0201))
        #expect(ask(limit, mapped, 1) != [.passes])
    }

    @Test
    func `clients with loopback addresses have no rate limit`() {
        let limit = RateLimit(now: epoch)
        for address in [
            IPAddress.v4(IPv4Address(value: 0x7F00_0001)), .v6(IPv6Address(high: 0, low: 1)),
        ] {
            #expect(ask(limit, address, 1_000).allSatisfy { $0 == .passes })
        }
    }

    @Test(arguments: [1, 1_000_000])
    func `2 queries exceed a limit of 1 a second, and 5,001 do not exceed a limit of 1,000,000`(
        _ perSecond: Int
    ) {
        let limit = RateLimit(now: epoch)
        let verdicts = ask(limit, Self.v4(1), min(perSecond, 5_000) + 1, perSecond: perSecond)
        #expect(verdicts.prefix(min(perSecond, 5_000)).allSatisfy { $0 == .passes })
        #expect((verdicts.last == .passes) == (perSecond > 5_000))
    }
}
