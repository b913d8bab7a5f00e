// SPDX-License-Identifier: Apache-2.0
internal import Administration
import DNSCache
import DNSWire
import Glibc
import Net
import Resolver
import TestWorld
import Testing
import Upstream

@testable import Configuration
@testable import Daemon

@Suite("Cache snapshots across restarts", .timeLimit(.minutes(15)))
struct CacheFileTests {
    let folder: TemporaryFolder
    let hours = TestClock()
    var path: String { folder.path + "/cache.snapshot" }

    init() throws { folder = try TemporaryFolder() }

    @ServiceLoop
    @discardableResult
    func life(_ fill: (Run) async throws -> Void) async throws -> Run {
        let run = Run(path, hours)
        await run.start()
        try await fill(run)
        await run.finish()
        return run
    }

    @ServiceLoop
    @Test
    func `no answer in a routing domain of a link is restored`() async throws {
        try await life { run in
            for name in ["app.corp.example.com", "www.example.com"] {
                try run.insert(name, server: "isp/udp://192.0.2.53")
            }
        }
        let network = LearnedNetwork(clocks: hours.clocks)
        let upstream = LearnedUpstream(name: "network", url: "network", timeout: .seconds(2))
        network.use(upstream, health: HealthTable(clocks: hours.clocks)) { _, _ in nil }
        network.use([
            LinkResolvers(.resolved, link: "tun0", servers: [], domains: ["corp.example.com"])
        ])
        let new = Run(path, hours, network: network)
        await new.start()
        #expect(try new.entry("app.corp.example.com") == nil)
        #expect(try new.entry("www.example.com") != nil)
    }

    @ServiceLoop
    @Test
    func `restored answers have their remaining TTL and their origin`() async throws {
        let old = try await life { run in
            try run.insert("www.example.com", server: "tencent\ttencent/192.0.2.1:443")
            try run.insert("short.example.com", ttl: 60, stale: 600, server: "isp/udp://192.0.2.53")
            try run.insert("gone.example.com", ttl: 60)
        }
        #expect(old.diary.all.count == 1)
        #expect(old.diary.all[0].hasPrefix("info: cache: entries saved: 3, "))
        #expect(names(in: folder.path) == ["cache.snapshot", "cache.snapshot.lock"])

        hours.advance(by: 100)
        let new = Run(path, hours)
        _ = new.origins.number(labelled: "somebody/else")
        await new.start()
        let kept = try #require(try new.entry("www.example.com"))
        #expect(new.origins.name(kept.server) == "tencent/192.0.2.1:443")
        #expect(new.origins.vendor(kept.server) == "tencent")
        #expect((100...102).contains(kept.age))
        let stale = try #require(try new.entry("short.example.com"))
        #expect(new.origins.name(stale.server) == "isp/udp://192.0.2.53")
        #expect(new.origins.vendor(stale.server) == nil)
        #expect(try new.entry("gone.example.com") == nil)
        #expect(
            new.diary.all == [
                """
                notice: cache: entries restored: 2 (1 stale) in 0 ms, snapshot 100 s old, \
                file \(path)
                """
            ]
        )
        let numbers = new.file.numbers
        #expect(numbers.latest?.entries == 3)
        #expect(numbers.latest.map { hours.now - $0.instant } == .seconds(100))
        #expect(numbers.fault == nil)
    }

    @ServiceLoop
    @Test
    func `the snapshot is written every 5 min if the cache has changed`() async throws {
        let run = Run(path, hours)
        await run.start()
        hours.advance(by: 300)
        await hours.rest()
        #expect(names(in: folder.path) == ["cache.snapshot.lock"])

        try run.insert("www.example.com")
        hours.advance(by: 299)
        #expect(names(in: folder.path) == ["cache.snapshot.lock"])
        hours.advance(by: 1)
        await hours.rest()
        #expect(run.file.numbers.latest?.entries == 1)
        let first = run.file.numbers.latest?.instant

        hours.advance(by: 300)
        await hours.rest()
        #expect(run.file.numbers.latest?.instant == first)

        run.cache.remove(.all, now: hours.now)
        hours.advance(by: 300)
        await hours.rest()
        #expect(run.file.numbers.latest?.entries == 0)
        #expect(run.diary.all.count == 2)
    }

    @ServiceLoop
    @Test
    func `a loaded snapshot is not written again before the cache changes`() async throws {
        try await life { try $0.insert("www.example.com") }
        let run = Run(path, hours)
        await run.start()
        await run.finish()
        #expect(run.diary.all.count == 1, "\(run.diary.all)")
    }

    @ServiceLoop
    @Test
    func `answers stored while the snapshot loads are kept and written`() async throws {
        try await life { try $0.insert("www.example.com", server: "old") }
        hours.advance(by: 10)
        let run = Run(path, hours)
        run.file.start()
        try run.insert("www.example.com", server: "new")
        await hours.rest()
        let entry = try #require(try run.entry("www.example.com"))
        #expect(run.origins.name(entry.server) == "new")
        #expect(entry.age == 0)
        await run.finish()
        #expect(run.diary.all.last?.hasPrefix("info: cache: entries saved: 1, ") == true)
    }

    @ServiceLoop
    @Test
    func `the most queried answers are loaded first`() async throws {
        try await life { run in
            for (index, name) in ["never", "often", "once"].enumerated() {
                try run.insert("\(name).example.com", ttl: 60, stale: 600)
                for _ in 0..<[0, 5, 1][index] { try ask(run.cache, "\(name).example.com") }
            }
        }
        hours.advance(by: 100)
        let run = Run(path, hours)
        await run.start()
        let hot = try #require(run.hot)
        #expect(hot.map { "\($0.question.name)" } == ["often.example.com.", "once.example.com."])
        #expect(hot.allSatisfy { !$0.isFresh })
    }

    @ServiceLoop
    private func ask(_ cache: AnswerCache, _ name: String) throws {
        var message = Message(header: Header(id: 1))
        message.questions = [Question(name: try Name(name), type: .a)]
        let query = message.encoded()
        let facts = try QueryFacts(checking: query.rawSpan)
        var buffer = query + [UInt8](repeating: 0, count: 1000)
        let hit = buffer.withMutableRawSpan { span in
            cache.withTable(now: hours.now) { $0.answer(facts, in: &span, limit: 512, now: $1) }
        }
        #expect(hit != nil)
    }

    @ServiceLoop
    @Test
    func `answers of a file with a future time are stale, and a warning is logged`() async throws {
        try await life {
            try $0.insert("www.example.com", ttl: 600, stale: 3_600)
            try $0.insert("gone.example.com", ttl: 600)
        }
        hours.wallSeconds -= 86_400
        let run = Run(path, hours)
        await run.start()
        #expect(try run.entry("www.example.com")?.age == 600)
        #expect(try run.entry("gone.example.com") == nil)
        #expect(run.diary.all.count == 2)
        let warning = "warning: cache: \(path): written 86400 s in the future"
        #expect(run.diary.all[0].hasPrefix(warning))
    }

    @ServiceLoop
    @Test
    func `a file that exceeds the cache is loaded up to the cache's capacity`() async throws {
        let big = try await life { try await $0.fill(4000) }
        #expect(big.file.numbers.latest?.entries == 4000)

        let small = Run(path, hours, size: 256 << 10)
        await small.start()
        let numbers = small.cache.numbers
        #expect(numbers.entries > 500)
        #expect(numbers.octets + numbers.indexOctets <= 256 << 10)
    }

    @ServiceLoop
    @Test
    func `names that the settings answer locally are not loaded`() async throws {
        try await life { run in
            try run.insert("printer.example.com")
            try run.insert("www.example.com")
        }
        let run = Run(path, hours)
        let printer = try Name("printer.example.com")
        run.resolver.use(
            HostsTable(records: [(printer, [IPAddress.v4(IPv4Address(value: 0xC0A8_0107))])])
        )
        run.file.start()
        await hours.rest()
        #expect(try run.entry("printer.example.com") == nil)
        #expect(try run.entry("www.example.com") != nil)
    }

    @ServiceLoop
    @Test
    func `answers of a source that the settings no longer use are not loaded`() async throws {
        try await life { try $0.insert("www.example.com", server: "v\tv/192.0.2.1:443") }
        var routes = RouteTable()
        let route = Route(
            place: "test:1",
            vendors: [],
            upstreams: nil,
            fallsBack: true,
            allowsPrivateAnswers: false
        )
        routes.add(route, for: [.suffix(try Name("example.com"))], except: [])
        let run = Run(path, hours, routes: routes)
        await run.start()
        #expect(run.cache.numbers.entries == 0)
        #expect(run.diary.all.first?.hasPrefix("notice: cache: entries restored: 0 ") == true)
    }

    @ServiceLoop
    @Test
    func `a snapshot written during a settings change is not loaded`() async throws {
        try await life { run in
            run.file.validity = { nil }
            try run.insert("www.example.com")
        }
        let run = Run(path, hours)
        await run.start()
        #expect(run.cache.numbers.entries == 0)
    }

    @ServiceLoop
    @Test(
        arguments: [
            ("empty", false), ("cut", false), ("flipped", false), ("longer", false),
            ("a later version", false), ("zeros", false), ("zeros", true), ("wrong mark", true),
        ]
    )
    func `a damaged file is reported, renamed and ignored`(
        _ what: String,
        isOwn: Bool
    ) async throws {
        try await life { try await $0.fill(50) }
        var octets = try read(path)
        switch what {
        case "empty": octets = []
        case "cut": octets.removeLast(20)
        case "flipped": octets[octets.count / 2] ^= 0x10
        case "longer": octets.append(0)
        case "zeros": octets = [UInt8](repeating: 0, count: octets.count)
        case "wrong mark": octets[2] ^= 0x10
        default: octets[9] = 0xFF
        }
        _ = try folder.write(octets, to: "cache.snapshot")
        _ = try folder.write("older", to: "cache.snapshot.damaged")

        let run = Run(path, hours, isOwn: isOwn)
        await run.start()
        #expect(run.cache.numbers.entries == 0)
        #expect(run.diary.all.count == 1)
        let line = try #require(run.diary.all.first)
        #expect(line.hasPrefix("error: cache: \(path): "))
        #expect(line.contains(", at octet "))
        #expect(line.hasSuffix("; the file was renamed to \(path).damaged and is ignored"))
        #expect(names(in: folder.path) == ["cache.snapshot.damaged", "cache.snapshot.lock"])
        #expect(try read(path + ".damaged") == octets)
        #expect(run.file.numbers.fault?.contains("at octet") == true)

        try run.insert("www.example.com")
        await run.finish()
        let files = ["cache.snapshot", "cache.snapshot.damaged", "cache.snapshot.lock"]
        #expect(names(in: folder.path) == files)
        #expect(run.file.numbers.fault == nil)
    }

    @ServiceLoop
    @Test(arguments: [false, true])
    func `a file that is not a snapshot is reported, and neither renamed nor replaced`(
        isReload: Bool
    ) async throws {
        let octets = Array("token: 0123456789\n".utf8)
        _ = try folder.write(octets, to: "cache.snapshot")
        let run = Run(path, hours)
        if isReload {
            run.file.startAnew()
            await hours.rest()
        } else {
            await run.start()
        }
        let line = try #require(run.diary.all.first)
        #expect(line.hasPrefix("warning: cache: \(path) is not a cache snapshot, not saving"))
        try run.insert("www.example.com")
        hours.advance(by: 300)
        await hours.rest()
        await run.finish()
        #expect(run.diary.all.count == 1)
        let files = names(in: folder.path).filter { !$0.hasSuffix(".lock") }
        #expect(files == ["cache.snapshot"])
        #expect(try read(path) == octets)
    }

    @ServiceLoop
    @Test
    func `a reload to another path overwrites the snapshot at that path`() async throws {
        try await life { try $0.insert("old.example.com") }
        let run = Run(path, hours)
        try run.insert("www.example.com")
        try run.insert("other.example.com")
        run.file.startAnew()
        await hours.rest()
        #expect(run.file.numbers.latest?.entries == 2)
        #expect(run.file.numbers.fault == nil)
    }

    @ServiceLoop
    @Test
    func
        `a reload replaces a file that is not a snapshot at the default path, and zeros at any path`()
        async throws
    {
        for (octets, isOwn) in [(Array("token".utf8), true), ([0, 0, 0, 0], false)] {
            _ = try folder.write(octets, to: "cache.snapshot")
            let run = Run(path, hours, isOwn: isOwn)
            try run.insert("www.example.com")
            run.file.startAnew()
            await hours.rest()
            #expect(run.file.numbers.latest?.entries == 1)
            #expect(run.file.numbers.fault == nil)
            await run.finish()
        }
    }

    private func read(_ path: String) throws -> [UInt8] {
        try RegularFile(path).read(atMost: 1 << 20)
    }

    @ServiceLoop
    @Test
    func `a file with a wrong mode is reported once, not read and not replaced`() async throws {
        _ = try folder.write("somebody's", to: "cache.snapshot", mode: 0o644)
        let run = Run(path, hours)
        await run.start()
        try run.insert("www.example.com")
        hours.advance(by: 300)
        await hours.rest()
        await run.finish()
        #expect(run.diary.all.count == 1, "\(run.diary.all)")
        let line = try #require(run.diary.all.first)
        #expect(line.hasPrefix("warning: cache: \(path) is open to other users (mode 0644)"))
        #expect(line.contains("chmod 600"))
        #expect(try read(path) == Array("somebody's".utf8))

        chmod(path, 0o600)
        await run.finish()
        #expect(run.file.numbers.latest == nil)
        #expect(run.file.numbers.fault?.hasSuffix("is not a cache snapshot") == true)
        #expect(try read(path) == Array("somebody's".utf8))
    }

    @ServiceLoop
    @Test
    func `a missing directory causes one warning with a hint`() async throws {
        let run = Run(folder.path + "/no/cache.snapshot", hours)
        await run.start()
        try run.insert("www.example.com")
        for _ in 0..<3 {
            hours.advance(by: 300)
            await hours.rest()
        }
        #expect(run.diary.all.count == 1)
        let line = try #require(run.diary.all.first)
        let start = "warning: cache: \(folder.path)/no/cache.snapshot.lock: open: No such file"
        #expect(line.hasPrefix(start))
        #expect(line.contains("create the directory, or change `cache.snapshot`"))
    }

    @ServiceLoop
    @Test
    func `a second daemon with the same file logs this once, and does not write`() async throws {
        try await life { try $0.insert("old.example.com") }
        let first = Run(path, hours)
        await first.start()
        await first.file.loaded()
        try first.insert("first.example.com")
        let second = Run(path, hours)
        await second.start()
        await second.file.loaded()
        #expect(try second.entry("old.example.com") != nil)
        let warning =
            "warning: cache: \(path) is used by another daemon (process \(getpid())) "
            + "(each daemon needs its own `cache.snapshot`), not saving the cache"
        #expect(second.diary.all.filter { $0.hasPrefix("warning") } == [warning])
        #expect(second.file.numbers.isContended && second.file.numbers.fault != nil)

        try second.insert("second.example.com")
        let before = try read(path)
        await second.finish()
        #expect(try read(path) == before)
        #expect(second.diary.all.filter { $0.hasPrefix("warning") } == [warning])

        await first.finish()
        let third = Run(path, hours)
        await third.start()
        await third.file.loaded()
        #expect(try third.entry("first.example.com") != nil)
        #expect(third.diary.all.allSatisfy { !$0.hasPrefix("warning") })
        #expect(!third.file.numbers.isContended)
    }

    @ServiceLoop
    @Test
    func `a daemon takes over the file when the other daemon has ended`() async throws {
        let first = Run(path, hours)
        await first.start()
        await first.file.loaded()
        let second = Run(path, hours)
        await second.start()
        await second.file.loaded()
        await first.finish()
        try second.insert("second.example.com")
        await second.finish()
        #expect(!second.file.numbers.isContended && second.file.numbers.fault == nil)
        let third = Run(path, hours)
        await third.start()
        await third.file.loaded()
        #expect(try third.entry("second.example.com") != nil)
    }

    @ServiceLoop
    @Test
    func `a stop during loading leaves the file unchanged`() async throws {
        try await life { try await $0.fill(3000) }
        let before = try read(path)
        let run = Run(path, hours)
        run.file.start()
        try run.insert("www.example.com")
        await run.finish()
        #expect(try read(path) == before)
    }
}
