// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks
import Testing

@testable import Net

final class PrivateNetwork: Sendable {
    static let complaint: String? =
        getuid() != 0
        ? "a network namespace needs root"
        : (try? PrivateNetwork()) == nil ? "network namespaces are forbidden here" : nil

    private let keeper: Program
    private let path: String

    init() throws {
        let directory = try TemporaryDirectory()
        let ready = directory.path("ready")
        keeper = try Program(
            "unshare",
            ["--net", "sh", "-c", "ip link set lo up && echo >\(ready) && exec sleep infinity"],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
        path = "/proc/\(keeper.pid)/ns/net"
        let deadline = Date(timeIntervalSinceNow: 20)
        while !FileManager.default.fileExists(atPath: ready) {
            guard kill(keeper.pid, 0) == 0, waitpid(keeper.pid, nil, WNOHANG) == 0,
                Date() < deadline
            else { throw Program.Failure(what: "unshare --net") }
            sched_yield()
        }
    }

    func ip(_ lines: String...) throws {
        for line in lines { try run(line.split(separator: " ").map(String.init)) }
    }

    func batch(_ lines: [String]) throws {
        let directory = try TemporaryDirectory()
        try directory.write(lines.joined(separator: "\n") + "\n", to: "batch")
        try run(["-batch", directory.path("batch")])
    }

    func setting(_ name: String, _ value: some CustomStringConvertible) throws {
        let program = try Program(
            "nsenter",
            ["--net=\(path)", "sysctl", "-qw", "\(name)=\(value)"],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
        guard program.end() == 0 else { throw Program.Failure(what: "sysctl \(name)") }
    }

    /// Runs a program without pipes, because other programs could inherit the pipes.
    private func run(_ arguments: [String]) throws {
        let program = try Program(
            "nsenter",
            ["--net=\(path)", "ip"] + arguments,
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
        guard program.end() == 0 else {
            throw Program.Failure(what: "ip \(arguments.joined(separator: " "))")
        }
    }

    func inside(_ body: @escaping @Sendable () -> Int32) throws -> Int32 {
        // Swift's Glibc does not declare setns without _GNU_SOURCE.
        typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
        let symbol = try #require(dlsym(nil, "setns"))
        let setns = unsafeBitCast(symbol, to: SetNamespace.self)
        let namespace = open(path, O_RDONLY | O_CLOEXEC)
        try #require(namespace >= 0)
        defer { close(namespace) }
        let result = Lock<Int32>(-1)
        let thread = try WorkerThread(named: "namespace") {
            guard setns(namespace, 0) == 0 else { return }
            let value = body()
            result.withLock { $0 = value }
        }
        thread.join()
        return result.withLock { $0 }
    }

    @ServiceLoop
    func prefixes() throws -> (watch: RouterOptionWatch, prefixes: AsyncStream<AnnouncedPrefix>) {
        let (prefixes, continuation) = AsyncStream.makeStream(of: AnnouncedPrefix.self)
        let watch = try RouterOptionWatch(
            events: OwnedDescriptor(inside(RouterOptionWatch.openEvents), from: "netlink"),
            look: NetworkLook(open: { (try? self.inside(NetworkLook.openRequests)) ?? -1 })
        ) { option, link in
            if link == "eth0", case .prefix(let prefix) = option { continuation.yield(prefix) }
        }
        return (watch, prefixes)
    }

    /// Sends router advertisements with the NAT64 prefix 2001:db8:64::/96 on a link, until killed.
    func advertise(on link: String) throws -> Program {
        let script = """
            import socket, struct, sys, threading
            stream = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            stream.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            index = socket.if_nametoindex(sys.argv[1])
            head = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
            prefix = socket.inet_pton(socket.AF_INET6, "2001:db8:64::")[:12]
            option = struct.pack("!BBH", 38, 2, 600) + prefix
            while True:
                try:
                    stream.sendto(head + option, ("ff02::1", 0, 0, index))
                except OSError:
                    pass
                threading.Event().wait(0.2)
            """
        return try Program(
            "nsenter",
            ["--net=\(path)", "python3", "-c", script, link],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
    }

    @ServiceLoop
    func watch() throws -> (watch: NetworkWatch, changes: AsyncStream<NetworkWatch.Change>) {
        let (changes, continuation) = AsyncStream.makeStream(of: NetworkWatch.Change.self)
        let watch = try NetworkWatch(
            events: OwnedDescriptor(inside(NetworkLook.openEvents), from: "netlink"),
            look: NetworkLook(open: { (try? self.inside(NetworkLook.openRequests)) ?? -1 })
        ) { continuation.yield($0) }
        return (watch, changes)
    }
}

@Suite(
    "A watched network",
    .enabled(if: PrivateNetwork.complaint == nil, "\(PrivateNetwork.complaint ?? "")"),
    .timeLimit(.minutes(15))
)
struct NetworkWatchTests {
    private let network: PrivateNetwork

    init() throws {
        network = try PrivateNetwork()
        try network.ip(
            "link add eth0 type veth peer name far",
            "link set eth0 up",
            "link set far up",
            "addr add 192.0.2.7/24 dev eth0",
            "route add default via 192.0.2.1"
        )
    }

    @ServiceLoop
    private func parts(
        of changes: AsyncStream<NetworkWatch.Change>,
        until last: String
    ) async -> [String] {
        var parts: [String] = []
        for await change in changes {
            parts += change.parts
            if parts.contains(last) { break }
        }
        return parts
    }

    @Test
    func `a replaced address is one change, reported when the new address exists`() async throws {
        let (watch, changes) = try await network.watch()
        try network.batch([
            "addr del 192.0.2.7/24 dev eth0", "addr add 192.0.2.8/24 dev eth0",
            "route add default via 192.0.2.1",
        ])
        var iterator = changes.makeAsyncIterator()
        #expect(
            await iterator.next()?.parts == ["lost 192.0.2.7 on eth0", "got 192.0.2.8 on eth0"]
        )
        withExtendedLifetime(watch) {}
    }

    @Test
    func `a NAT64 prefix in a router advertisement is reported`() async throws {
        let (watch, prefixes) = try await network.prefixes()
        try network.setting("net.ipv6.conf.eth0.accept_ra", 2)
        try network.setting("net.ipv6.conf.eth0.accept_ra_from_local", 1)
        let router = try network.advertise(on: "far")
        var iterator = prefixes.makeAsyncIterator()
        let prefix = try #require(await iterator.next())
        #expect(prefix.length == 96 && prefix.lifetime == .seconds(600))
        #expect(prefix.octets.prefix(6) == [0x20, 1, 0xD, 0xB8, 0, 0x64])
        withExtendedLifetime((watch, router)) {}
    }

    @Test
    func `a removed address without a replacement is reported after a delay`() async throws {
        let (watch, changes) = try await network.watch()
        try network.ip("addr del 192.0.2.7/24 dev eth0")
        var iterator = changes.makeAsyncIterator()
        // When the link loses its address, it also loses the default route. The kernel sends no
        // message about the lost route.
        #expect(
            await iterator.next()?.parts
                == ["lost 192.0.2.7 on eth0", "lost default route via 192.0.2.1 on eth0"]
        )
        withExtendedLifetime(watch) {}
    }

    @Test
    func `a default route and a carrier that come and go are reported`() async throws {
        let (watch, changes) = try await network.watch()
        try network.ip("route del default")
        #expect(
            await parts(of: changes, until: "lost default route via 192.0.2.1 on eth0").count == 1
        )
        try network.ip("link set far down")
        #expect(await parts(of: changes, until: "lost 192.0.2.7 on eth0").count == 1)
        try network.ip("link set far up")
        #expect(await parts(of: changes, until: "got 192.0.2.7 on eth0").count == 1)
        withExtendedLifetime(watch) {}
    }

    @Test
    func `container interfaces, new routes and repeated messages are not reported`() async throws {
        let (watch, changes) = try await network.watch()
        try network.ip(
            "link add docker0 type bridge",
            "addr add 172.17.0.1/16 dev docker0",
            "link set docker0 up",
            "link add veth1 type veth peer name veth2",
            "link set veth1 master docker0 up",
            "link set veth2 up",
            "link del veth1",
            "link set docker0 down",
            "route add 198.51.100.0/24 via 192.0.2.1",
            "route add default via 192.0.2.1 table 7",
            "addr change 192.0.2.7/24 dev eth0 valid_lft 600 preferred_lft 600",
            "neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev eth0",
            "addr add 192.0.2.200/24 dev eth0"
        )
        let parts = await parts(of: changes, until: "got 192.0.2.200 on eth0")
        #expect(parts == ["got 192.0.2.200 on eth0"])
        withExtendedLifetime(watch) {}
    }

    @Test
    func `the loss of netlink messages is reported as a change`() async throws {
        let (watch, changes) = try await network.watch()
        let addresses = (1...2500).map { "198.51.\(100 + $0 / 250).\($0 % 250 + 1)/32 dev lo" }
        try await ServiceLoop.throwingTask { [network] in
            try network.batch(
                addresses.map { "addr add \($0)" } + addresses.map { "addr del \($0)" }
            )
        }.value
        var first: NetworkWatch.Change?
        for await change in changes {
            first = change
            break
        }
        #expect(first?.parts.contains { $0.hasPrefix("lost netlink messages") } == true)
        withExtendedLifetime(watch) {}
    }

    @Test
    func `an invalid netlink message is reported as a change`() async throws {
        let (watch, changes) = try await network.watch()
        await watch.note([1, 2, 3])
        try network.ip("addr add 192.0.2.9/24 dev eth0")
        let parts = await parts(of: changes, until: "got 192.0.2.9 on eth0")
        #expect(parts.contains { $0.hasPrefix("cannot parse") })
    }

    @Test
    func `a change of many parts is logged in one short line`() {
        let parts = (1...20).map { "lost 192.0.2.\($0) on eth0" }
        let text = NetworkWatch.Change(parts: parts).description
        #expect(text.hasSuffix("lost 192.0.2.8 on eth0 and 12 more"))
    }
}

struct NetworkWatchPaceTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test
    func `the interval between reports doubles even if 10 s pass between two changes`() {
        var pace = NetworkWatch.Pace()
        let intervals = (0..<7).map { pace.next(start + .seconds(10 * $0)) }
        #expect(intervals == [200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
    }

    @Test
    func `a quiet period of 30 s restores the shortest interval`() {
        var pace = NetworkWatch.Pace()
        for _ in 0..<5 { _ = pace.next(start) }
        #expect(pace.next(start + NetworkWatch.memory) == NetworkWatch.settling)
    }
}
