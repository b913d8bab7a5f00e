// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("A fleet with one bill", .needs(.dig, .nsd, .curl, .redis), .hangLimit)
struct FleetTests {
    @Test("one call serves all machines; counters and cache entries show the fleet as the source")
    func shared() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness("servers: [\"\(redis.address)\"]")
        try fleet.connected()
        for daemon in fleet.daemons {
            #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        }
        #expect(try fleet.daemons[1].dig("www.example.com", "AAAA").data("AAAA") == ["2001:db8::1"])
        #expect(try fleet.emulator.lookups() == 1)

        let leader = try fleet.daemons[0].fleetStats()
        #expect(leader["led"] == 1 && leader["published"] == 1, "\(leader)")
        for daemon in fleet.daemons.dropFirst() {
            let fleet = try daemon.fleetStats()
            #expect(fleet["found"] == 1 && fleet["led"] == 0, "\(fleet)")
            let stats = try daemon.stats()
            #expect(stats["queries", "by-origin", "fleet"].int == 1)
            #expect(stats["queries", "by-origin", "vendor"].int == 0)
            #expect(stats["queries", "by-source", "vendor"].int == 1)
            let vendor = try #require(stats["vendors"].array.first)
            #expect(vendor["avoided", "fleet"].int == 1 && vendor["calls"].int == 0)
            #expect(vendor["units", "at-most"].int == 0 || vendor["units"].value == nil)
            let entry = try #require(try daemon.cached("www.example.com", "A").first)
            #expect(entry["fleet"].string == "m1" && entry["origin"].string == "tencent")
            #expect(entry["ttl-seconds"].int ?? 999 <= 300)
        }
        let live = try fleet.daemons[2].control("explain", "www.example.com", "--live").output
        #expect(live.contains("fleet: shared answer from m1, "), "\(live)")
        #expect(live.contains("\(redis.port)"), "\(live)")

        for key in try redis.command("keys", "*").split(separator: "\n").map(String.init)
        where key.hasSuffix(":v") {
            let value = try redis.command("--no-raw", "get", key)
            #expect(!value.contains("example") && !value.contains("m1"), "\(value)")
        }
        try fleet.stop()
    }

    @Test("machines that resolve a name at the same time share one call")
    func together() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness("servers: [\"\(redis.address)\"]", faults: ["delay=300"])
        try fleet.connected()
        let names = (0..<20).map { "n\($0).many.example.com" }
        let sockets = try fleet.daemons.map { try Socket(.datagram, to: $0.port) }
        for name in names {
            for socket in sockets { try socket.send(RawMessage.query(name, type: 1)) }
        }
        for socket in sockets {
            for _ in names { #expect(RawMessage.rcode(try socket.receive()) == 0) }
        }
        let calls = try fleet.emulator.calls()["names"]
        #expect(names.allSatisfy { calls[$0].int == 1 }, "\(String(describing: calls.value))")
        let stats = try fleet.daemons.map { try $0.fleetStats() }
        #expect(stats.reduce(0) { $0 + ($1["led"] ?? 0) } == names.count, "\(stats)")
        #expect(stats.allSatisfy { $0["waited-in-vain"] == 0 && $0["rejected"] == 0 }, "\(stats)")
        try fleet.stop()
    }

    @Test("machines with different secrets or groups, or with `share: off`, do not share answers")
    func separated() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness(
            "servers: [\"\(redis.address)\"]",
            secrets: [
                FleetHarness.secret, FleetHarness.secret, "fedcba9876543210fedcba9876543210",
            ],
            extras: ["group: one", "group: two", "group: one"]
        )
        try fleet.connected()
        for daemon in fleet.daemons { _ = try daemon.dig("www.example.com", "A") }
        #expect(try fleet.emulator.lookups() == 3)
        try fleet.daemons[0].wait("stats") { $0["fleet", "rejected"].int == 1 }
        let log = fleet.daemons[0].program.errorText
        #expect(log.contains("fleet: ignoring a shared answer: forged"), "\(log)")
        try fleet.daemons[1].wait("status") { $0["fleet", "members"].int == 2 }
        let status = try JSON(fleet.daemons[1].control("status", "--json").output)
        #expect(status["fleet", "state"].string == "connected")
        #expect(status["fleet", "server"].string == redis.address)
        #expect(status["fleet", "since"].string?.hasSuffix("Z") == true)
        try fleet.stop()

        let alone = try FleetHarness(
            "servers: [\"\(redis.address)\"]",
            secrets: [FleetHarness.secret, FleetHarness.secret],
            route: "share: off"
        )
        try alone.connected()
        for daemon in alone.daemons { _ = try daemon.dig("www.example.com", "A") }
        #expect(try alone.emulator.lookups() == 2)
        #expect(try alone.daemons[0].fleetStats()["reads"] == 0)
        let text = try alone.daemons[0].control("explain", "four.example.com").output
        #expect(text.contains("share: off"), "\(text)")
        try alone.stop()
    }

    @Test(
        "with `budget: shared`, all machines share one budget, even machines with the same name",
        arguments: [nil, "gateway"]
    )
    func budget(name: String?) throws {
        var redis: TestRedis? = try TestRedis()
        let port = try #require(redis?.port)
        let fleet = try FleetHarness(
            "servers: [\"127.0.0.1:\(port)\"]\n  budget: shared",
            extras: ["group: one", "group: two", "group: three"],
            name: name,
            vendor: "budget: {calls-per-day: 60}"
        )
        try fleet.connected()
        var answered = 0
        for number in 0..<40 {
            answered += try fleet.daemons.count {
                try $0.dig("n\(number).many.example.com", "A").status == "NOERROR"
            }
        }
        let calls = try fleet.emulator.lookups()
        #expect(calls == answered)
        #expect((50...60).contains(calls), "\(calls)")
        let status = try fleet.daemons[0].control("status").output
        #expect(status.contains("of the fleet"), "\(status)")
        redis = nil
        for daemon in fleet.daemons {
            try daemon.program.line(with: "the Redis server is not used")
        }
        let before = try fleet.emulator.lookups()
        for number in 40..<50 {
            for daemon in fleet.daemons { _ = try daemon.dig("n\(number).many.example.com", "A") }
        }
        #expect(try fleet.emulator.lookups() - before <= 10)
        try fleet.stop()
    }

    @Test("with `group: auto`, machines share answers after the vendor has reported their network")
    func automatic() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness("servers: [\"\(redis.address)\"]", extras: ["", "", ""])
        try fleet.connected()
        // The reply to the first call reports the machine's network, so the answer in this reply is
        // shared.
        _ = try fleet.daemons[0].dig("www.example.com", "A")
        _ = try fleet.daemons[1].dig("four.example.com", "A")
        #expect(try fleet.emulator.lookups() == 2)
        #expect(try fleet.daemons[1].dig("www.example.com", "A").data("A").count == 2)
        #expect(try fleet.daemons[0].dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try fleet.emulator.lookups() == 2)
        let text = try fleet.daemons[2].control("explain", "www.example.com").output
        #expect(text.contains("not queried: the vendor has not yet reported"), "\(text)")
        try fleet.stop()
    }

    @Test("while the Redis server fails, clients get answers; afterwards, the daemon reconnects")
    func lost() throws {
        var redis: TestRedis? = try TestRedis()
        let port = try #require(redis?.port)
        let fleet = try FleetHarness(
            "servers: [\"127.0.0.1:\(port)\"]",
            secrets: [FleetHarness.secret]
        )
        let daemon = fleet.daemons[0]
        try fleet.connected()
        redis = nil
        try daemon.program.line(with: "fleet: the Redis server is not used")
        #expect(try daemon.dig("www.example.com", "A").data("A").count == 2)
        let status = try daemon.control("status")
        #expect(status.status == 4 && status.output.contains("alone since"), "\(status)")
        let json = try JSON(daemon.control("status", "--json").output)
        #expect(json["fleet", "state"].string == "alone" && json["state"].string == "degraded")
        #expect(json["fleet", "last-error"].string?.isEmpty == false)
        let metrics = try daemon.control("flush", "--fleet", "--all")
        #expect(metrics.status == 1 && metrics.errors.contains("not flushed"), "\(metrics)")

        let second = try TestRedis(port: port)
        try fleet.connected(times: 2)
        #expect(try daemon.control("status").status == 0)
        second.program.send(SIGSTOP)
        // A query waits for the Redis server at most 1 s. After several timeouts, the daemon stops
        // using the Redis server.
        for name in ["a", "b", "c"] {
            #expect(try daemon.dig("\(name).many.example.com", "A").data("A") == ["192.0.2.77"])
        }
        try daemon.program.line(with: "fleet: the Redis server is not used", number: 2)
        second.program.send(SIGCONT)
        try fleet.connected(times: 3)
        #expect(try daemon.fleetStats()["timeouts"] ?? 0 >= 3)
        try fleet.stop()
    }

    @Test(
        "the daemon does not use a Redis server that refuses the daemon's commands",
        arguments: [
            (["replicaof", "127.0.0.1", "1"], ["replicaof", "no", "one"], "READONLY"),
            (["config", "set", "maxmemory", "1"], ["config", "set", "maxmemory", "0"], "OOM"),
            (
                ["acl", "setuser", "default", "-set"], ["acl", "setuser", "default", "+set"],
                "NOPERM"
            ),
        ]
    )
    func refusing(_ fault: [String], _ remedy: [String], _ error: String) throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness(
            "servers: [\"\(redis.address)\"]",
            secrets: [FleetHarness.secret]
        )
        let daemon = fleet.daemons[0]
        try fleet.connected()
        let cli = { (words: [String]) in
            _ = try Child("redis-cli", ["-p", "\(redis.port)"] + words).end()
        }
        try cli(fault)
        #expect(try daemon.dig("www.example.com", "A").data("A").count == 2)
        try daemon.wait("status") { $0["fleet", "state"].string == "alone" }
        let status = try JSON(daemon.control("status", "--json").output)
        #expect(status["fleet", "last-error"].string?.contains(error) == true, "\(status)")
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        try cli(remedy)
        try daemon.wait("status") { $0["fleet", "state"].string == "connected" }
        try fleet.stop()
    }

    @Test(
        "a Redis user with the manual's ACL rules works over TLS; `status` shows a wrong password"
    )
    func protected() throws {
        let redis = try TestRedis(
            """
            user default off
            user httpdnsd on >correct \(TestRedis.rules)
            """,
            hasTLS: true
        )
        let engine = """
            servers: ["\(redis.address)"]
              tls: on
              tls-name: redis.example.com
              ca-file: \(try #require(redis.authority).file)
            """
        let fleet = try FleetHarness(
            engine,
            secrets: [FleetHarness.secret, FleetHarness.secret],
            password: "correct"
        )
        try fleet.connected()
        for daemon in fleet.daemons {
            #expect(try daemon.dig("www.example.com", "A").data("A").count == 2)
        }
        #expect(try fleet.emulator.lookups() == 1)
        #expect(try fleet.daemons[0].control("flush", "--fleet", "--all").status == 0)
        let stats = try fleet.daemons.map { try $0.fleetStats() }
        #expect(stats.allSatisfy { $0["errors"] == 0 }, "\(stats)")
        try fleet.stop()

        for (engine, password, error) in [
            (engine, "wrong", "WRONGPASS"),
            (
                engine.replacingOccurrences(of: "redis.example.com", with: "other.example.com"),
                "correct", "TLS"
            ),
        ] {
            let fleet = try FleetHarness(engine, secrets: [FleetHarness.secret], password: password)
            let text = "fleet: the Redis server is not used"
            let line = try fleet.daemons[0].program.line(with: text)
            #expect(line.contains(error), "\(line)")
            #expect(try fleet.daemons[0].dig("www.example.com", "A").data("A").count == 2)
            #expect(try fleet.daemons[0].control("status").status == 4)
            try fleet.stop()
        }
    }

    @Test("`flush --fleet` removes the answers on all machines and in Redis")
    func flush() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness("servers: [\"\(redis.address)\"]")
        try fleet.connected()
        for daemon in fleet.daemons {
            for name in ["www", "four"] { _ = try daemon.dig("\(name).example.com", "A") }
        }
        #expect(try fleet.emulator.lookups() == 2)
        #expect(try fleet.daemons[0].control("flush", "--fleet", "www.example.com").status == 0)
        for daemon in fleet.daemons.dropFirst() {
            try daemon.program.line(with: "fleet: flush by another machine")
            #expect(try daemon.cached("www.example.com").isEmpty)
            #expect(try !daemon.cached("four.example.com").isEmpty)
        }
        #expect(try fleet.daemons[2].dig("www.example.com", "A").data("A").count == 2)
        #expect(try fleet.emulator.lookups() == 3)
        #expect(try fleet.daemons[2].fleetStats()["rejected"] ?? 0 >= 1)
        #expect(try fleet.daemons[0].dig("www.example.com", "A").data("A").count == 2)
        #expect(try fleet.emulator.lookups() == 3)

        let soft = try fleet.daemons[1].control(
            "flush",
            "--fleet",
            "--tree",
            "example.com",
            "--soft"
        )
        #expect(soft.status == 0, "\(soft)")
        try fleet.daemons[0].program.line(with: "fleet: flush by another machine", number: 1)
        try fleet.daemons[0].wait("lookup", "four.example.com") { json in
            json["entries"].array.allSatisfy { $0["stale"].bool == true }
        }
        let refused = try fleet.daemons[0].control("flush", "--fleet", "--negative")
        #expect(refused.status == 2, "\(refused)")
        try fleet.stop()
    }

    @Test("the daemon ignores and counts forged values and messages in Redis")
    func poisoned() throws {
        let redis = try TestRedis()
        let fleet = try FleetHarness(
            "servers: [\"\(redis.address)\"]",
            secrets: [FleetHarness.secret, FleetHarness.secret]
        )
        try fleet.connected()
        let names = ["www.example.com", "four.example.com", "a.many.example.com"]
        for name in names { _ = try fleet.daemons[0].dig(name, "A") }
        let keys = try redis.command("keys", "*:v").split(separator: "\n").map(String.init)
        #expect(keys.count == names.count)
        let value = try redis.command("--no-raw", "get", keys[0])
        let long = String(repeating: "x", count: 5_000)
        for (key, poison) in zip(keys, [long, "\u{1}short", value]) {
            try redis.command("set", key, poison)
            try redis.command("publish", "httpdnsd:messages", poison)
        }
        try redis.command("publish", "httpdnsd:messages", String(repeating: "y", count: 100_000))
        for name in names {
            #expect(!(try fleet.daemons[1].dig(name, "A").data("A").isEmpty))
        }
        #expect(try fleet.emulator.lookups() == 2 * names.count)
        try fleet.daemons[1].wait("stats") { $0["fleet", "rejected"].int == 2 * names.count + 1 }
        let stats = try fleet.daemons[1].fleetStats()
        #expect(stats["errors"] == 0 && stats["found"] == 0, "\(stats)")
        try fleet.stop()
    }

    @Test("Sentinel: after a fail-over the fleet uses the new master", .timeLimit(.minutes(5)))
    func failOver() throws {
        let replicas = try (TestRedis(), TestRedis())
        try replicas.1.command("replicaof", "127.0.0.1", "\(replicas.0.port)")
        let sentinel = try TestRedis(
            """
            sentinel monitor fleet 127.0.0.1 \(replicas.0.port) 1
            sentinel down-after-milliseconds fleet 500
            sentinel failover-timeout fleet 2000
            """,
            isSentinel: true
        )
        try sentinel.program.line(with: "+slave slave 127.0.0.1:\(replicas.1.port)")
        let fleet = try FleetHarness(
            "sentinel: {servers: [\"\(sentinel.address)\"], master: fleet}",
            secrets: [FleetHarness.secret, FleetHarness.secret]
        )
        for daemon in fleet.daemons {
            try daemon.program.line(with: "fleet: connected to \(replicas.0.address)")
        }
        _ = try fleet.daemons[0].dig("www.example.com", "A")
        replicas.0.program.send(SIGKILL)
        #expect(try fleet.daemons[1].dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        for daemon in fleet.daemons {
            try daemon.program.line(with: "fleet: connected to \(replicas.1.address)")
        }
        for daemon in fleet.daemons {
            #expect(try daemon.dig("a.many.example.com", "A").data("A") == ["192.0.2.77"])
        }
        #expect(try fleet.emulator.calls()["names", "a.many.example.com"].int == 1)
        try fleet.stop()
    }

    @Test("a reload can change the Redis server, and can switch off the fleet")
    func reload() throws {
        let (one, two) = (try TestRedis(), try TestRedis())
        let fleet = try FleetHarness(
            "servers: [\"\(one.address)\"]",
            secrets: [FleetHarness.secret]
        )
        let daemon = fleet.daemons[0]
        try fleet.connected()
        let text = try String(contentsOfFile: daemon.file, encoding: .utf8)
        func change(_ old: String, _ new: String) throws {
            let text = text.replacingOccurrences(of: old, with: new)
            try text.write(toFile: daemon.file, atomically: false, encoding: .utf8)
            let end = try daemon.control("reload")
            #expect(end.status == 0, "\(end)")
        }
        try change(one.address, two.address)
        try daemon.program.line(with: "fleet: connected to \(two.address)")
        #expect(try one.command("client", "list").split(separator: "\n").count == 1)
        let section = try #require(text.range(of: "fleet:"))
        try change(String(text[section.lowerBound...]), "fleet: off\n")
        let status = try JSON(daemon.control("status", "--json").output)
        #expect(status["fleet", "state"].string == "off")
        try fleet.stop()
    }
}
