// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Net

/// Messages of the kernel (rtnetlink(7)).
///
/// The numbers are from linux/rtnetlink.h, not from the parser.
enum Netlink {
    static let newLink = 16
    static let deletedLink = 17
    static let newAddress = 20
    static let deletedAddress = 21
    static let newRoute = 24
    static let deletedRoute = 25
    static let gateway = 5
    static let multipath = 9

    static func octets<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    static func message(_ type: Int, _ body: [UInt8]) -> [UInt8] {
        let head = octets(UInt32(16 + body.count)) + octets(UInt16(type)) + octets(UInt16(0))
        return padded(head + octets(UInt32(7)) + octets(UInt32(0)) + body)
    }

    static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        padded(octets(UInt16(4 + value.count)) + octets(UInt16(type)) + value)
    }

    private static func padded(_ octets: [UInt8]) -> [UInt8] {
        octets + [UInt8](repeating: 0, count: -octets.count & 3)
    }

    static func link(
        _ index: Int32,
        _ name: String,
        isRunning: Bool = true,
        kind: String? = nil,
        signal: UInt8? = nil,
        type: Int = Netlink.newLink
    ) -> [UInt8] {
        var body: [UInt8] = [0, 0, 0, 0] + octets(index)
        body += octets(UInt32(isRunning ? 0x10043 : 0x1003)) + octets(UInt32(0))
        body += attribute(3, Array(name.utf8) + [0])
        if let kind {
            body += attribute(18, attribute(1, Array(kind.utf8) + [0]))
        }
        // IFLA_WIRELESS.
        if let signal { body += attribute(11, [signal]) }
        return message(type, body)
    }

    static func address(
        _ text: String,
        on index: Int32,
        scope: UInt8 = 0,
        flags: UInt32 = 0x80,
        seconds: UInt32 = .max,
        type: Int = Netlink.newAddress
    ) throws -> [UInt8] {
        let address = try #require(SocketAddress(text, defaultPort: 0)).octets
        let family = UInt8(address.count == 4 ? AF_INET : AF_INET6)
        var body: [UInt8] = [family, 24, UInt8(truncatingIfNeeded: flags), scope] + octets(index)
        body += attribute(1, address)
        if address.count == 4 { body += attribute(2, address) }
        body += attribute(8, octets(flags))
        // IFA_CACHEINFO.
        body += attribute(6, octets(seconds) + octets(seconds) + [UInt8](repeating: 1, count: 8))
        return message(type, body)
    }

    static func route(
        via gateway: String,
        on index: Int32,
        length: UInt8 = 0,
        metric: UInt32 = 0,
        table: UInt8 = 254,
        kind: UInt8 = 1,
        type: Int = Netlink.newRoute
    ) throws -> [UInt8] {
        let address = try #require(SocketAddress(gateway, defaultPort: 0)).octets
        let family = UInt8(address.count == 4 ? AF_INET : AF_INET6)
        var body: [UInt8] = [family, length, 0, 0, table, 3, 0, kind, 0, 0, 0, 0]
        body += attribute(Netlink.gateway, address)
        body += attribute(4, octets(index))
        body += attribute(6, octets(metric))
        return message(type, body)
    }
}

extension NetworkState {
    init(_ datagrams: [UInt8]...) throws {
        self.init()
        for message in try NetlinkMessage.all(in: datagrams.flatMap(\.self)) {
            if let fact = try NetworkFact(message) { note(fact) }
        }
    }

    fileprivate func isNews(_ datagram: [UInt8]) throws -> Bool {
        try isNews(try #require(NetlinkMessage.all(in: datagram).first))
    }
}

@Suite("rtnetlink messages")
struct NetlinkTests {
    @Test
    func `a datagram holds several messages, each with its padding`() throws {
        let datagram = Netlink.message(16, [1, 2, 3]) + Netlink.message(20, [])
        let messages = try NetlinkMessage.all(in: datagram)
        #expect(messages.map(\.type) == [16, 20])
        #expect(messages.map { Array($0.body) } == [[1, 2, 3], []])
        #expect(try NetlinkMessage.all(in: []) == [])
    }

    @Test
    func `the last netlink message needs no padding`() throws {
        let datagram = Netlink.message(16, [1, 2, 3]).dropLast()
        #expect(try NetlinkMessage.all(in: Array(datagram)).count == 1)
    }

    @Test(
        "a message with an impossible length is an error",
        arguments: [0, 15, 25, UInt32.max]
    )
    func lengths(_ length: UInt32) throws {
        let good = Netlink.message(16, [])
        var bad = Netlink.message(16, [1, 2, 3, 4, 5, 6, 7, 8])
        bad.replaceSubrange(0..<4, with: Netlink.octets(length))
        #expect(throws: NetlinkError.length(at: 16)) { try NetlinkMessage.all(in: good + bad) }
    }

    @Test
    func `a truncated message is an error, or results in the same facts as the whole message`()
        throws
    {
        let whole = try Netlink.address("192.0.2.7", on: 3)
        let fact = try NetworkFact(try #require(NetlinkMessage.all(in: whole).first))
        var errors = 0
        for count in 17..<whole.count {
            var part = Array(whole.prefix(count))
            part.replaceSubrange(0..<4, with: Netlink.octets(UInt32(count)))
            do throws(NetlinkError) {
                let message = try NetlinkMessage.all(in: part)[0]
                #expect(try NetworkFact(message) == fact)
            } catch {
                errors += 1
            }
        }
        #expect(errors > 20)
    }

    @Test
    func `the parser never reads beyond random octets`() throws {
        var random = SystemRandomNumberGenerator()
        let seeds = [
            Netlink.link(2, "eth0", kind: "bridge"), try Netlink.address("2001:db8::7", on: 3),
            try Netlink.route(via: "192.0.2.1", on: 2),
        ]
        for seed in seeds {
            for _ in 0..<2000 {
                var datagram = seed
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<datagram.count, using: &random)
                    datagram[place] = .random(in: 0...255, using: &random)
                }
                guard let messages = try? NetlinkMessage.all(in: datagram) else { continue }
                for message in messages { _ = try? NetworkFact(message) }
            }
        }
    }

    @Test
    func `an address with a wrong length is an error`() throws {
        let body: [UInt8] = [UInt8(AF_INET6), 64, 0, 0, 3, 0, 0, 0]
        let datagram = Netlink.message(
            Netlink.newAddress,
            body + Netlink.attribute(1, [192, 0, 2, 1])
        )
        let message = try #require(NetlinkMessage.all(in: datagram).first)
        #expect(throws: NetlinkError.address(at: 28)) { try NetworkFact(message) }
    }

    @Test
    func `the parser returns all interfaces of a multipath default route`() throws {
        var hops: [UInt8] = []
        for index: UInt8 in [2, 3] {
            hops += Netlink.octets(UInt16(16)) + [0, 0] + Netlink.octets(Int32(index))
            hops += Netlink.attribute(Netlink.gateway, [192, 0, 2, index])
        }
        let datagram = Netlink.message(
            Netlink.newRoute,
            [UInt8(AF_INET), 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0]
                + Netlink.attribute(Netlink.multipath, hops)
        )
        #expect(try NetworkState(datagram).defaultRoutes.map(\.interfaces) == [[2, 3]])
    }
}

@Suite("Network changes that are reported")
struct NetworkStateTests {
    let host: NetworkState

    init() throws {
        host = try NetworkState(
            Netlink.link(2, "eth0"),
            Netlink.link(3, "docker0", kind: "bridge"),
            Netlink.address("192.0.2.7", on: 2),
            Netlink.address("2001:db8::7", on: 2),
            Netlink.address("172.17.0.1", on: 3),
            Netlink.route(via: "192.0.2.1", on: 2)
        )
    }

    private func host(_ datagrams: [UInt8]...) throws -> NetworkState {
        var state = host
        for message in try NetlinkMessage.all(in: datagrams.flatMap(\.self)) {
            if let fact = try NetworkFact(message) { state.note(fact) }
        }
        return state
    }

    @Test
    func `an address that is added or removed is a change`() throws {
        let new = try Netlink.address("192.0.2.8", on: 2)
        #expect(try host.isNews(new))
        #expect(try host(new).changes(since: host) == ["got 192.0.2.8 on eth0"])
        #expect(try host.changes(since: host(new)) == ["lost 192.0.2.8 on eth0"])
        let gone = try Netlink.address("192.0.2.7", on: 2, type: Netlink.deletedAddress)
        #expect(try host.isNews(gone))
    }

    @Test
    func `a default route that is added, removed or replaced is a change`() throws {
        let other = try Netlink.route(via: "192.0.2.2", on: 2, metric: 100)
        #expect(try host.isNews(other))
        #expect(
            try host(other).changes(since: host) == ["got default route via 192.0.2.2 on eth0"]
        )
        #expect(
            try host.isNews(Netlink.route(via: "192.0.2.1", on: 2, type: Netlink.deletedRoute))
        )
    }

    @Test
    func `the addresses of an interface without carrier count as lost`() throws {
        let down = Netlink.link(2, "eth0", isRunning: false)
        #expect(try host.isNews(down))
        #expect(
            try host(down).changes(since: host)
                == ["lost 192.0.2.7 on eth0", "lost 2001:db8::7 on eth0"]
        )
        #expect(try host.isNews(Netlink.link(2, "eth0", type: Netlink.deletedLink)))
    }

    @Test
    func `a message that repeats a known state is no change`() throws {
        #expect(try !host.isNews(Netlink.link(2, "eth0")))
        #expect(try !host.isNews(Netlink.link(2, "eth0", signal: 40)), "wireless statistics")
        #expect(
            try !host.isNews(Netlink.address("2001:db8::7", on: 2, seconds: 600)),
            "a renewed lifetime"
        )
        #expect(try !host.isNews(Netlink.route(via: "192.0.2.1", on: 2)))
    }

    @Test
    func `addresses that are not reachable from other hosts are no change`() throws {
        #expect(try !host.isNews(Netlink.address("fe80::1", on: 2, scope: 253)), "of the link")
        #expect(try !host.isNews(Netlink.address("127.0.0.2", on: 1, scope: 254)), "of the host")
        #expect(try !host.isNews(Netlink.address("169.254.7.7", on: 2)), "of the link, by hand")
        #expect(
            try !host.isNews(Netlink.address("2001:db8::8", on: 2, flags: 0x40)),
            "duplicate address detection has not finished"
        )
        #expect(
            try !host.isNews(Netlink.address("2001:db8::8", on: 2, flags: 0x48)),
            "duplicate: in use by another host"
        )
        #expect(
            try host.isNews(Netlink.address("2001:db8::8", on: 2, flags: 0x44)),
            "optimistic: usable immediately"
        )
    }

    @Test
    func `specific routes, routes of other tables and reject routes are no change`() throws {
        #expect(try !host.isNews(Netlink.route(via: "192.0.2.9", on: 2, length: 8)))
        #expect(try !host.isNews(Netlink.route(via: "192.0.2.9", on: 2, table: 255)))
        #expect(try !host.isNews(Netlink.route(via: "192.0.2.9", on: 2, kind: 7)))
    }

    @Test
    func `the start or stop of a container is no change`() throws {
        #expect(try !host.isNews(Netlink.link(9, "veth1", isRunning: false, kind: "veth")))
        #expect(try !host.isNews(Netlink.link(9, "veth1", kind: "veth")))
        #expect(try !host.isNews(Netlink.address("fe80::9", on: 9, scope: 253)))
        #expect(try !host.isNews(Netlink.link(9, "veth1", type: Netlink.deletedLink)))
    }

    @Test
    func `a new bridge of containers, or its loss of carrier, is no change`() throws {
        let down = Netlink.link(3, "docker0", isRunning: false, kind: "bridge")
        #expect(try host(down).changes(since: host) == [])
        let second = try host(
            Netlink.link(4, "br-1", kind: "bridge"),
            Netlink.address("172.18.0.1", on: 4)
        )
        #expect(second.changes(since: host) == [])
    }

    @Test
    func `a change of a bridge with the default route is a change`() throws {
        func bridge(_ isRunning: Bool) throws -> NetworkState {
            try NetworkState(
                Netlink.link(2, "br0", isRunning: isRunning, kind: "bridge"),
                Netlink.address("192.0.2.7", on: 2),
                Netlink.route(via: "192.0.2.1", on: 2)
            )
        }
        #expect(try bridge(true).changes(since: bridge(false)) == ["got 192.0.2.7 on br0"])
    }

    @Test
    func `an address on an interface that is down is no change`() throws {
        let state = try host(
            Netlink.link(5, "kube-ipvs0", isRunning: false, kind: "dummy"),
            Netlink.address("198.51.100.1", on: 5)
        )
        #expect(state.changes(since: host) == [])
    }

    @Test
    func `losing the only address or default route is a loss of connectivity`() throws {
        let (link, address) = (Netlink.link(2, "eth0"), try Netlink.address("192.0.2.8", on: 2))
        let route = try Netlink.route(via: "192.0.2.1", on: 2)
        #expect(try NetworkState().isLess(than: NetworkState(link, address)))
        #expect(try NetworkState(link, address).isLess(than: host))
        #expect(try !NetworkState(link, address, route).isLess(than: host))
        #expect(try !NetworkState(link, address).isLess(than: NetworkState()))
        #expect(!host.isLess(than: host))
    }

    @Test
    func `the number of stored addresses is bounded`() throws {
        var state = NetworkState()
        for number in 0..<5000 {
            let octets: [UInt8] = [192, 0, UInt8(number >> 8), UInt8(number & 0xFF)]
            state.note(.address(NetworkFact.Address(index: 2, octets: octets)))
        }
        #expect(state.addresses.count == NetworkState.maximumAddresses)
    }
}

@Suite("NAT64 prefixes and captive portals in router advertisements")
struct AnnouncedPrefixTests {
    /// Returns `struct nduseroptmsg` with the option of RFC 8781 §4.
    private func message(
        option: UInt8 = 38,
        units: UInt8 = 2,
        word: UInt16,
        prefix: [UInt8],
        family: UInt8 = 10
    ) throws -> NetlinkMessage {
        var body = [family, 0] + Netlink.octets(UInt16(16)) + Netlink.octets(Int32(7))
        body += [134, 0, 0, 0, 0, 0, 0, 0]
        body += [option, units, UInt8(word >> 8), UInt8(word & 0xFF)] + prefix
        return try #require(try NetlinkMessage.all(in: Netlink.message(68, body)).first)
    }

    private let prefix: [UInt8] = [0x20, 1, 0xD, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8]

    @Test(arguments: [(0, 96), (1, 64), (2, 56), (3, 48), (4, 40), (5, 32)] as [(UInt16, Int)])
    func `the code in the option determines the length of the prefix`(code: UInt16, length: Int)
        throws
    {
        let message = try message(word: 225 << 3 | code, prefix: prefix)
        let announced = try #require(AnnouncedPrefix(message))
        #expect(announced.length == length)
        #expect(announced.lifetime == .seconds(1_800))
        #expect(announced.interface == 7)
        let kept = length / 8
        #expect(announced.octets == prefix.prefix(kept) + [UInt8](repeating: 0, count: 16 - kept))
    }

    @Test
    func `the longest lifetime is 65,528 s, and 0 withdraws the prefix`() throws {
        let longest = try message(word: 0xFFF8, prefix: prefix)
        #expect(AnnouncedPrefix(longest)?.lifetime == .seconds(65_528))
        #expect(AnnouncedPrefix(try message(word: 0, prefix: prefix))?.lifetime == .zero)
    }

    @Test
    func `options that are invalid or are not PREF64 are ignored`() throws {
        #expect(AnnouncedPrefix(try message(option: 25, word: 0, prefix: prefix)) == nil)
        #expect(AnnouncedPrefix(try message(units: 1, word: 0, prefix: prefix)) == nil)
        #expect(AnnouncedPrefix(try message(word: 6, prefix: prefix)) == nil)
        #expect(AnnouncedPrefix(try message(word: 0, prefix: Array(prefix.dropLast(4)))) == nil)
        #expect(AnnouncedPrefix(try message(word: 0, prefix: prefix, family: 2)) == nil)
    }

    private func portal(_ option: [UInt8]) throws -> AnnouncedPortal? {
        let head = [10, 0] + Netlink.octets(UInt16(option.count)) + Netlink.octets(Int32(7))
        let body = head + [134, 0, 0, 0, 0, 0, 0, 0] + option
        return AnnouncedPortal(
            try #require(try NetlinkMessage.all(in: Netlink.message(68, body)).first)
        )
    }

    @Test(arguments: [
        ("https://portal.example.com/api", true), ("urn:ietf:params:capport:unrestricted", false),
        ("x", true), (String(repeating: "x", count: 2_038), true),
    ])
    func `the URI shows whether a captive portal exists`(uri: String, exists: Bool) throws {
        let units = (uri.utf8.count + 2 + 7) / 8
        let padding = [UInt8](repeating: 0, count: units * 8 - 2 - uri.utf8.count)
        let announced = try portal([37, UInt8(units)] + uri.utf8 + padding)
        #expect(announced == AnnouncedPortal(isRestricted: exists, interface: 7))
    }

    @Test(
        arguments: [
            [37, 1, 0, 0, 0, 0, 0, 0], [37, 0, 65, 65, 65, 65, 65, 65],
            [37, 2, 65, 65, 65, 65, 65, 65], [31, 1, 65, 65, 65, 65, 65, 65], [37],
        ] as [[UInt8]]
    )
    func `an invalid captive portal option is ignored`(option: [UInt8]) throws {
        #expect(try portal(option) == nil)
    }
}
