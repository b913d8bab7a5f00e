// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Reloading", .needs(.dig, .nsd, .curl), .hangLimit, .serialized)
struct ReloadTests {
    private static func upstream(_ address: String) throws -> TestUpstream {
        let zone = """
            $ORIGIN example.org.
            $TTL 300
            @     SOA ns hostmaster 1 3600 600 86400 60
            @     NS ns
            ns    A 198.51.100.53
            own   A \(address)
            same  A 198.51.100.7

            """
        return try TestUpstream(zones: ["example.org": zone])
    }

    private final class Load: @unchecked Sendable {
        // SAFETY: all properties are used only while `lock` is held.
        private let lock = NSLock()
        private var isOver = false
        private var running = 0
        private(set) var answered = 0
        private(set) var faults: [String] = []

        init(_ port: UInt16, clients: Int, names: [String], allowed: Set<UInt8>) {
            running = clients
            for client in 0..<clients {
                Thread.detachNewThread { [self] in
                    do {
                        try ask(port, names, allowed, UInt16(client) << 12)
                    } catch {
                        lock.withLock { faults.append("\(error)") }
                    }
                    lock.withLock { running -= 1 }
                }
            }
        }

        private func ask(
            _ port: UInt16,
            _ names: [String],
            _ allowed: Set<UInt8>,
            _ first: UInt16
        ) throws {
            let socket = try Socket(.datagram, to: port)
            var id = first
            while !lock.withLock({ isOver }) {
                id = first | (id &+ 1) & 0xFFF
                let name = names[Int(id) % names.count]
                try socket.send(RawMessage.query(name, id: id))
                let reply = try socket.receive()
                let isRight =
                    RawMessage.id(reply) == id && RawMessage.rcode(reply) == 0
                    && RawMessage.answers(reply) == 1 && allowed.contains(reply.last ?? 0)
                lock.withLock {
                    answered += 1
                    if !isRight { faults.append("\(name): \(reply)") }
                }
            }
        }

        func end() -> (answered: Int, faults: [String]) {
            lock.withLock { isOver = true }
            while lock.withLock({ running > 0 }) { sched_yield() }
            return lock.withLock { (answered, faults) }
        }
    }

    @Test("50 reloads under load lose no query and give no wrong answer")
    func load() throws {
        let (one, two) = (try Self.upstream("198.51.100.1"), try Self.upstream("198.51.100.2"))
        func settings(_ upstream: TestUpstream, _ extra: String) -> String {
            """
            upstreams: [{name: isp, url: "udp://127.0.0.1:\(upstream.port)"}]
            hosts: {files: []}
            \(extra)
            """
        }
        let daemon = try TestDaemon(settings(one, ""))
        let load = Load(
            daemon.port,
            clients: 3,
            names: ["own.example.org", "same.example.org"],
            allowed: [1, 2, 7]
        )
        let socket = try Socket(.datagram, to: daemon.port)
        let stream = try Socket(.stream, to: daemon.port)
        var wrong: [String] = []
        for round in 1...50 {
            let isSecond = round % 2 == 1
            try daemon.rewrite(
                isSecond
                    ? settings(two, "answers: {order: rotate}\nlog: {queries: \(round % 4 == 1)}")
                    : settings(one, "allow: [\"127.0.0.0/8\"]")
            )
            let end = try daemon.control("reload")
            try #require(end.status == 0, "\(end.errors)")
            try socket.send(RawMessage.query("own.example.org"))
            let datagram = try socket.receive()
            try stream.sendFramed([RawMessage.query("own.example.org")])
            for reply in [datagram, try stream.receiveFramed()]
            where reply.last != (isSecond ? 2 : 1) { wrong.append("round \(round): \(reply)") }
        }
        let (answered, faults) = load.end()
        #expect(wrong == [])
        #expect(faults == [])
        let stats = try daemon.stats()
        #expect(answered > 500)
        #expect(stats["queries"]["total"].int == answered + 100)
        #expect(stats["queries"]["by-source"]["failed"].int == 0)
        #expect(stats["misses"]["dropped"].int == 0)
        try daemon.stop()
    }

    @Test("a reload of invalid settings changes nothing, and reports every error")
    func wrong() throws {
        let one = try Self.upstream("198.51.100.1")
        let good = """
            upstreams: [{name: isp, url: "udp://127.0.0.1:\(one.port)"}]
            hosts: {files: [], records: {printer.example: [192.0.2.9]}}

            """
        let daemon = try TestDaemon(good)
        #expect(try daemon.dig("own.example.org").data("A") == ["198.51.100.1"])
        let bad = """
            upstreams: [{name: isp, url: "udp://127.0.0.1:1"}]
            hosts: {files: [], records: {printer.example: [192.0.2.10]}}
            cahce: {size: 1MiB}
            workers: many
            """
        try daemon.rewrite(bad)
        let reload = try daemon.control("reload")
        #expect(reload.status == 1 && reload.output.isEmpty)
        #expect(
            reload.errors.contains(
                "\(daemon.file):5:1: unknown key `cahce` (did you mean `cache`?)"
            )
        )
        #expect(reload.errors.contains("\(daemon.file):6:10: `workers` must be"))
        #expect(reload.errors.contains("keeping the old configuration"))
        let json = try daemon.control("--json", "reload")
        #expect(json.status == 1)
        #expect(try JSON(json.output)["problems"].array.count == 2)
        #expect(try JSON(json.output)["applied"].bool == false)
        let check = try daemon.control("check")
        #expect(check.status == 1 && check.errors.contains("cahce"))
        _ = try daemon.program.line(with: "keeping the old configuration")
        #expect(try daemon.dig("printer.example").data("A") == ["192.0.2.9"])
        #expect(try daemon.cached("own.example.org", "A").count == 1)
        daemon.program.send(SIGHUP)
        try daemon.rewrite(good)
        let again = try daemon.control("reload")
        #expect(again.status == 0 && again.output == "reloaded, no changes\n")
        #expect(try daemon.control("check").output == "ok, a reload would change nothing\n")
        #expect(try daemon.cached("own.example.org", "A").count == 1)
        // A directory cannot be read as a hosts file, not even by root.
        try daemon.rewrite(good.replacing("files: []", with: "files: [/etc]"))
        let warning = "hosts: /etc is a directory, not a file, ignoring the file"
        for verb in ["check", "reload"] {
            let unread = try daemon.control(verb)
            #expect(unread.status == 0)
            #expect((unread.output + unread.errors).contains(warning), "\(verb): \(unread)")
        }
        try daemon.stop()
    }

    @Test("a reload that changes `hosts` does not drop the names of an unreadable hosts file")
    func unreadableHosts() throws {
        let scratch = try Scratch()
        let hosts = try scratch.write("192.0.2.1 a.example\n", to: "hosts")
        func settings(_ files: String, _ record: String) -> String {
            """
            \(unusedUpstream)
            hosts: {files: [\(files)], records: {b.example: [\(record)]}}
            """
        }
        let daemon = try TestDaemon(settings(hosts, "192.0.2.2"))
        func addresses() throws -> [String] {
            try ["a.example", "b.example"].flatMap { try daemon.dig($0).data("A") }
        }
        try FileManager.default.removeItem(atPath: hosts)
        try FileManager.default.createDirectory(
            atPath: hosts,
            withIntermediateDirectories: false
        )
        _ = try daemon.program.line(with: "keeping its former names")
        try daemon.rewrite(settings(hosts, "192.0.2.3"))
        for verb in ["check", "reload"] {
            let refused = try daemon.control(verb)
            #expect(refused.status == 1, "\(verb): \(refused)")
            #expect(refused.errors.contains("cannot change `hosts`: \(hosts) is a directory"))
        }
        #expect(try addresses() == ["192.0.2.1", "192.0.2.2"])
        try daemon.rewrite(settings("", "192.0.2.3"))
        #expect(try daemon.control("reload").status == 0)
        #expect(try addresses() == ["192.0.2.3"])
        try daemon.stop()
    }

    @Test("a reload adds and removes listen addresses, and keeps connections to other addresses")
    func listeners() throws {
        let one = try Self.upstream("198.51.100.1")
        let settings = "upstreams: [{name: isp, url: \"udp://127.0.0.1:\(one.port)\"}]"
        let daemon = try TestDaemon(settings)
        let stream = try Socket(.stream, to: daemon.port)
        try stream.sendFramed([RawMessage.query("own.example.org")])
        #expect(try stream.receiveFramed().last == 1)
        let before = try #require(daemon.stats()["queries"]["total"].int)

        let port = try freePort()
        try daemon.rewrite(settings, listen: "127.0.0.1:0", "127.0.0.1:\(port)")
        let added = try daemon.control("reload")
        #expect(added.status == 0 && added.output.contains("+ listen: \"127.0.0.1:\(port)\""))
        let other = try Socket(.stream, to: port)
        try other.sendFramed([RawMessage.query("own.example.org")])
        #expect(try other.receiveFramed().last == 1)
        let datagram = try Socket(.datagram, to: port)
        try datagram.send(RawMessage.query("own.example.org"))
        #expect(try datagram.receive().last == 1)
        try stream.sendFramed([RawMessage.query("same.example.org")])
        #expect(try stream.receiveFramed().last == 7)

        let foreign = try Socket(.stream, bound: true)
        try foreign.listen()
        try daemon.rewrite(
            settings + "\nhosts: {records: {new.example: [192.0.2.1]}}",
            listen: "127.0.0.1:0",
            "127.0.0.1:\(foreign.port)"
        )
        let refused = try daemon.control("reload")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("address already in use"))
        try datagram.send(RawMessage.query("own.example.org"))
        #expect(try datagram.receive().last == 1)
        #expect(try daemon.dig("new.example").data("A").isEmpty)

        try daemon.rewrite(settings)
        let removed = try daemon.control("reload")
        #expect(removed.status == 0 && removed.output.contains("- listen: \"127.0.0.1:\(port)\""))
        #expect(throws: Child.Failure.self) { try Socket(.stream, to: port) }
        #expect(throws: Child.Failure.self) { _ = try other.receiveFramed() }
        try stream.sendFramed([RawMessage.query("own.example.org")])
        #expect(try stream.receiveFramed().last == 1)
        #expect(try daemon.stats()["queries"]["total"].int == before + 6)
        try daemon.stop()
    }

    private struct Fixture {
        let emulator: TestEmulator
        let upstream: TestUpstream
        let daemon: TestDaemon
        private let vendor: @Sendable (String) throws -> String

        init(_ faults: String...) throws {
            let emulator = try TestEmulator(zone: ProgramHarness.zone, faults: faults)
            let upstream = try TestUpstream()
            let scratch = try Scratch()
            self.emulator = emulator
            self.upstream = upstream
            vendor = { extra in
                let vendor = try VendorText(
                    .aes,
                    servers: [emulator.address],
                    in: scratch,
                    extra: extra
                )
                return """
                    \(vendor.text)
                    routes:
                      - {domains: [example.com], vendors: [tencent], fallback-after: off}
                    \(upstream.text)
                    """
            }
            daemon = try TestDaemon(try vendor(""))
        }

        func reload(_ options: String = "", _ more: String = "") throws -> String {
            try perform("reload", options, more)
        }

        func check(_ options: String) throws -> String { try perform("check", options, "") }

        private func perform(_ verb: String, _ options: String, _ more: String) throws -> String {
            try daemon.rewrite(try vendor(options) + "\n" + more)
            let end = try daemon.control(verb)
            try #require(end.status == 0, "\(end.errors)")
            return end.output
        }

        func reloadWithoutVendor() throws -> String {
            try daemon.rewrite(upstream.text)
            let end = try daemon.control("reload")
            try #require(end.status == 0, "\(end.errors)")
            return end.output
        }

        func stats() throws -> JSON { try #require(daemon.stats()["vendors"].array.first) }
    }

    @Test("a pending vendor call completes, although a reload changes or removes its vendor")
    func underWay() throws {
        let fixture = try Fixture("delay=1500")
        for (name, address, reload) in [
            ("a.many.example.com", true, { try fixture.reload("timeout: 1900ms") }),
            ("b.many.example.com", true, { try fixture.reloadWithoutVendor() }),
        ] as [(String, Bool, () throws -> String)] {
            let socket = try Socket(.datagram, to: fixture.daemon.port)
            let before = try fixture.emulator.lookups()
            try socket.send(RawMessage.query(name))
            while try fixture.emulator.lookups() == before {}
            let said = try reload()
            #expect(said.contains("vendors.tencent"), "\(said)")
            let reply = try socket.receive()
            #expect(address == (reply.suffix(4) == [192, 0, 2, 77]), "\(name) \(reply)")
        }
        #expect(try fixture.daemon.cached("b.many.example.com", "A").isEmpty)
        #expect(try fixture.daemon.dig("b.many.example.com").status == "NXDOMAIN")
        try fixture.daemon.stop()
    }

    @Test("a reload keeps pauses, counters and cache entries of a vendor")
    func vendor() throws {
        let fixture = try Fixture()
        #expect(try fixture.daemon.dig("www.example.com").data("A").count == 2)
        #expect(try fixture.daemon.control("pause", "tencent").status == 0)
        for options in ["", "timeout: 1s", "timeout: 1s"] {
            _ = try fixture.reload(options, "cache: {maximum-ttl: 2d}")
            let status = try JSON(fixture.daemon.control("status", "--json").output)
            #expect(status["vendors"].array.first?["state"].string == "paused", "\(options)")
            #expect(try fixture.stats()["billable-calls"].int == 1, "\(options)")
            #expect(try fixture.daemon.cached("www.example.com", "A").count == 1, "\(options)")
        }
        #expect(try fixture.daemon.control("resume", "tencent").status == 0)
        #expect(try fixture.daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try fixture.stats()["billable-calls"].int == 2)
        let checked = try fixture.check("client-subnet: 203.0.113.7")
        let trial = try #require(
            checked.firstMatch(of: /; it would remove (\d+) answers from the cache/),
            "\(checked)"
        )
        #expect(try fixture.daemon.cached("www.example.com", "A").count == 1)
        let said = try fixture.reload("client-subnet: 203.0.113.7")
        #expect(said.contains("+ vendors.tencent.client-subnet: 203.0.113.7"), "\(said)")
        #expect(said.contains("; \(trial.1) answers removed from the cache"), "\(said)")
        #expect(try fixture.daemon.cached("www.example.com", "A").isEmpty)
        #expect(try fixture.daemon.dig("www.example.com").data("A").count == 2)
        #expect(try fixture.stats()["billable-calls"].int == 3)
        try fixture.daemon.stop()
    }

    @Test("a reload applies `allow`, `log` and `hosts`, and lists settings that need a restart")
    func options() throws {
        let one = try Self.upstream("198.51.100.1")
        let settings = "upstreams: [{name: isp, url: \"udp://127.0.0.1:\(one.port)\"}]\n"
        let daemon = try TestDaemon(settings)
        let stream = try Socket(.stream, to: daemon.port)
        try stream.sendFramed([RawMessage.query("own.example.org")])
        #expect(try stream.receiveFramed().last == 1)

        try daemon.rewrite(settings + "allow: [192.0.2.0/24]\n")
        #expect(try daemon.control("reload").status == 0)
        #expect(try daemon.dig("own.example.org").status == "REFUSED")
        try stream.sendFramed([RawMessage.query("own.example.org")])
        #expect(RawMessage.rcode(try stream.receiveFramed()) == 5)

        let scratch = try Scratch()
        let hosts = try scratch.write("192.0.2.21 file.example\n", to: "hosts")
        try daemon.rewrite(
            settings
                + """
                log: {level: debug, queries: true}
                hosts: {files: [\(hosts)], records: {own.example.org: [192.0.2.22]}}
                workers: 3
                cache: {snapshot: \(scratch.file("cache.snapshot"))}
                """
        )
        let reload = try daemon.control("reload")
        #expect(reload.status == 0)
        #expect(reload.output.contains("needs a restart: workers\n"))
        #expect(try daemon.dig("file.example").data("A") == ["192.0.2.21"])
        #expect(try daemon.dig("own.example.org").data("A") == ["192.0.2.22"])
        _ = try daemon.program.line(with: "name=file.example.")
        #expect(try daemon.control("check").output.contains("workers: auto -> 3"))
        try scratch.write("192.0.2.23 file.example\n", to: "hosts")
        while try daemon.dig("file.example").data("A") != ["192.0.2.23"] {}
        try daemon.stop()
        #expect(FileManager.default.contents(atPath: scratch.file("cache.snapshot")) != nil)
    }

    @Test("several SIGHUP signals in a row have the effect of one signal")
    func signals() throws {
        let one = try Self.upstream("198.51.100.1")
        let settings = "upstreams: [{name: isp, url: \"udp://127.0.0.1:\(one.port)\"}]\n"
        let daemon = try TestDaemon(settings)
        for round in 1...5 {
            try daemon.rewrite(settings + "hosts: {records: {x.example: [192.0.2.\(round)]}}\n")
            daemon.program.send(SIGHUP)
            daemon.program.send(SIGHUP)
            #expect(try daemon.control("reload").status == 0)
            #expect(try daemon.dig("x.example").data("A") == ["192.0.2.\(round)"])
        }
        daemon.program.send(SIGHUP)
        try daemon.stop()
        #expect(!daemon.program.errorText.contains("reload failed"))
    }
}
