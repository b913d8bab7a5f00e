// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private struct Scrape {
    let samples: [String: Double]

    let kinds: [String: String]

    let type: String

    init(_ arguments: [String], in scratch: Scratch) throws {
        let head = scratch.file("head-\(UUID().uuidString)")
        let end = try run(
            "curl",
            ["--silent", "--show-error", "--fail", "--noproxy", "*", "--dump-header", head]
                + arguments
        )
        try #require(end.status == 0, "\(end.errors)")
        let lines = try String(contentsOfFile: head, encoding: .utf8).split(separator: "\r\n")
        type = lines.first { $0.hasPrefix("Content-Type: ") }.map { String($0.dropFirst(14)) } ?? ""
        let text = try scratch.write(end.output, to: "scrape-\(UUID().uuidString)")
        let reader = try run("python3", ["-c", Self.reader, text, type])
        try #require(reader.status == 0, "\(reader.errors)")
        let json = try JSON(reader.output)
        let read = json["samples"].value as? [String: NSNumber] ?? [:]
        samples = read.mapValues(\.doubleValue)
        kinds = json["kinds"].value as? [String: String] ?? [:]
    }

    private static let reader = """
        import json, sys
        from prometheus_client.parser import text_string_to_metric_families as plain
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
        text = open(sys.argv[1]).read()
        parse = open_metrics if "openmetrics" in sys.argv[2] else plain
        samples, kinds = {}, {}
        for family in parse(text):
            assert family.documentation, family.name
            kinds[family.name] = family.type
            for sample in family.samples:
                labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
                key = f"{sample.name}{{{labels}}}"
                assert key not in samples, key
                samples[key] = float(sample.value)
        print(json.dumps({"samples": samples, "kinds": kinds}))
        """

    func sum(_ name: String, _ labels: String...) -> Int {
        let parts = samples.filter { sample in
            sample.key.hasPrefix(name + "{") && labels.allSatisfy { sample.key.contains($0) }
        }
        return Int(parts.values.reduce(0, +))
    }

    var names: Set<String> {
        Set(samples.keys.compactMap { $0.split(separator: "{").first.map(String.init) })
    }
}

@Suite("Metrics", .needs(.dig, .nsd, .curl, .prometheus), .hangLimit)
struct MetricsTests {
    private static let open = ["--header", "Accept: application/openmetrics-text; version=1.0.0"]

    private static func url(_ daemon: TestDaemon, _ start: String = "http://") throws -> String {
        let line = try daemon.program.line(with: "metrics: served at \(start)")
        return start + line.components(separatedBy: "served at \(start)")[1]
    }

    @Test(
        "the Prometheus library reads Prometheus and OpenMetrics text, over TCP and a Unix socket"
    )
    func live() throws {
        let scratch = try Scratch()
        let path = scratch.file("metrics.sock")
        let harness = try ProgramHarness(
            vendor: "budget: {calls-per-day: 100}",
            settings: "metrics: {listen: [\"127.0.0.1:0\", \(path)]}"
        )
        let url = try Self.url(harness.daemon)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o660)
        for _ in 0..<3 { _ = try harness.daemon.dig("www.example.com", "A") }
        _ = try harness.daemon.dig("three.example.org", "A", "+tcp")
        _ = try harness.daemon.dig("nowhere.example.org", "A")
        _ = try harness.daemon.control("stats", "--reset")
        let plain = try Scrape([url], in: scratch)
        let open = try Scrape(Self.open + [url], in: scratch)
        let local = try Scrape(["--unix-socket", path, "http://httpdnsd/metrics"], in: scratch)
        #expect(plain.type == "text/plain; version=0.0.4; charset=utf-8")
        #expect(open.type == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(Set(local.samples.keys) == Set(plain.samples.keys))
        #expect(Set(plain.samples.keys) == Set(open.samples.keys))
        #expect(open.kinds["httpdnsd_queries"] == "counter")
        #expect(open.kinds["httpdnsd_client_latency_seconds"] == "histogram")
        #expect(open.kinds["httpdnsd_build"] == "info")
        for scrape in [plain, open] {
            #expect(scrape.sum("httpdnsd_queries_total") == 5)
            #expect(scrape.sum("httpdnsd_queries_total", "source=cache") == 2)
            #expect(scrape.sum("httpdnsd_queries_total", "transport=tcp", "source=upstream") == 1)
            #expect(scrape.sum("httpdnsd_queries_total", "rcode=nxdomain") == 1)
            #expect(scrape.sum("httpdnsd_client_latency_seconds_count") == 5)
            #expect(scrape.sum("httpdnsd_cache_latency_seconds_bucket", "le=+Inf") == 2)
            #expect(scrape.sum("httpdnsd_vendor_calls_total", "vendor=tencent") == 1)
            #expect(scrape.sum("httpdnsd_vendor_billable_calls_total") == 1)
            #expect(scrape.sum("httpdnsd_vendor_budget_spent_calls") == 1)
            #expect(scrape.sum("httpdnsd_vendor_budget_calls_per_day") == 100)
            #expect(scrape.sum("httpdnsd_vendor_state", "state=up") == 1)
            #expect(scrape.sum("httpdnsd_vendor_state") == 1)
            #expect(scrape.sum("httpdnsd_vendor_resting") == 0)
            #expect(scrape.sum("httpdnsd_upstream_queries_total") == 2)
            #expect(scrape.sum("httpdnsd_upstream_server_state", "state=up") == 1)
            #expect(scrape.sum("process_open_fds") > 5)
        }
        _ = try harness.daemon.control("pause", "tencent")
        let paused = try Scrape([url], in: scratch)
        #expect(paused.sum("httpdnsd_vendor_state", "state=paused") == 1)
        #expect(paused.sum("httpdnsd_vendor_resting", "reason=operator") == 1)
        try harness.daemon.stop()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("the daemon exports every metric that the Grafana dashboard uses")
    func dashboard() throws {
        let scratch = try Scratch()
        let secret = try scratch.write(FleetHarness.secret + "\n", to: "secret", mode: 0o600)
        let harness = try ProgramHarness(
            firstFaults: ["status=500"],
            vendor: "budget: {calls-per-day: 100}\nprice: {per-10000: 1, currency: CNY}",
            settings: """
                metrics: {listen: "127.0.0.1:0"}
                cache: {snapshot: \(scratch.file("cache"))}
                fleet: {servers: ["127.0.0.1:1"], secret: {file: \(secret)}, group: test}
                """
        )
        let url = try Self.url(harness.daemon)
        _ = try harness.daemon.dig("www.example.com", "A")
        _ = try harness.daemon.dig("other.example.net", "A")
        let scrape = try Scrape([url], in: scratch)
        let failures = scrape.sum("httpdnsd_vendor_server_failures_total")
        #expect((1...2).contains(failures))
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../config/grafana/httpdnsd.json")
        let board = try JSON(String(contentsOf: file, encoding: .utf8))
        let panels = board["panels"].array
        let notes = board["annotations", "list"].array
        let queries = (panels.flatMap { $0["targets"].array } + notes).compactMap {
            $0["expr"].string
        }
        #expect(panels.count > 10 && queries.count >= panels.count - 6)
        var named: Set<String> = []
        for query in queries {
            for name in try Regex(#"\b(?:httpdnsd|process)_[a-z_]+"#).matches(in: query) {
                named.insert(name)
                #expect(scrape.names.contains(name), "\(query)")
            }
            let opens = query.count { "([{".contains($0) }
            #expect(opens == query.count { ")]}".contains($0) }, "\(query)")
        }
        #expect(named.count > 15)
        try harness.daemon.stop()
    }

    @Test(
        "the daemon answers only GET and HEAD of /metrics, and limits request size and connections"
    )
    func bounds() throws {
        let daemon = try TestDaemon("\(unusedUpstream)\nmetrics: {listen: \"127.0.0.1:0\"}")
        let port = try #require(
            Self.url(daemon).split(separator: ":").last.flatMap { UInt16($0.prefix { $0 != "/" }) }
        )
        func reply(_ request: String) throws -> String {
            let socket = try Socket(.stream, to: port)
            try socket.send(Array(request.utf8))
            var octets: [UInt8] = []
            while true {
                let more = try socket.receive()
                guard !more.isEmpty else { return String(decoding: octets, as: UTF8.self) }
                octets += more
            }
        }
        let end = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        let get = try reply("GET /metrics \(end)")
        #expect(get.hasPrefix("HTTP/1.1 200 OK\r\n") && get.contains("\nhttpdnsd_build_info{"))
        let head = try reply("HEAD /metrics \(end)")
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.hasSuffix("\r\n\r\n"))
        #expect(try reply("GET / \(end)").hasPrefix("HTTP/1.1 404 "))
        let post = try reply("POST /metrics \(end)")
        #expect(post.hasPrefix("HTTP/1.1 405 ") && post.contains("\r\nAllow: GET, HEAD\r\n"))
        #expect(try reply("nonsense\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
        let long = "GET /metrics HTTP/1.1\r\nA: " + String(repeating: "x", count: 8192)
        #expect(try reply(String(long.prefix(8192))).hasPrefix("HTTP/1.1 431 "))
        let body = String(repeating: "x", count: 100_000)
        let request = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n\(body)"
        #expect(try reply(request).hasPrefix("HTTP/1.1 413 "))
        let two = try reply("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\nHEAD / \(end)")
        #expect(two.contains("HTTP/1.1 200 OK") && two.contains("HTTP/1.1 404 Not Found"))
        let idle = try (0..<16).map { _ in try Socket(.stream, to: port) }
        #expect(try reply("HEAD /metrics \(end)").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(try idle[0].receive().isEmpty)
        #expect(idle[15].isSilent)
        // `busy` has an unfinished reply. To accept new clients, the server closes an idle
        // connection instead of `busy`, although `busy` is older.
        let busy = try Socket(.stream, to: port)
        let requests = String(repeating: "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", count: 400)
        try busy.send(Array(requests.utf8))
        #expect(try !busy.receive().isEmpty)
        let others = try (0..<16).map { _ in try Socket(.stream, to: port) }
        #expect(try others[0].receive().isEmpty)
        #expect(try !busy.receive().isEmpty)
        #expect(others[15].isSilent)
        try daemon.stop()
    }

    @Test("a reload does not interrupt scrapes")
    func reload() throws {
        let scratch = try Scratch()
        let (first, second) = (try freePort(), try freePort())
        func settings(_ place: String) -> String {
            "\(unusedUpstream)\nmetrics: {listen: \(place)}"
        }
        func scrape(_ port: UInt16) throws -> Scrape {
            try Scrape(["http://127.0.0.1:\(port)/metrics"], in: scratch)
        }
        let daemon = try TestDaemon(settings("\"127.0.0.1:\(first)\""))
        let stream = try Socket(.stream, to: first)
        for round in 1...5 {
            try daemon.rewrite(
                settings("\"127.0.0.1:\(first)\"") + "\ncache: {maximum-ttl: \(round)h}"
            )
            #expect(try daemon.control("reload").status == 0)
            #expect(try scrape(first).sum("httpdnsd_build_info") == 1)
            try stream.send(Array("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            #expect(try stream.receive().count > 50)
        }
        let foreign = try Socket(.stream, bound: true)
        try foreign.listen()
        try daemon.rewrite(settings("\"127.0.0.1:\(foreign.port)\""))
        let refused = try daemon.control("reload")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("cannot serve metrics at 127.0.0.1:\(foreign.port)"))
        #expect(try scrape(first).sum("httpdnsd_last_reload_failed") == 1)
        #expect(try scrape(first).sum("httpdnsd_reloads_total", "result=applied") == 5)
        try daemon.rewrite(settings("\"127.0.0.1:\(second)\""))
        #expect(try daemon.control("reload").output.contains("metrics.listen"))
        #expect(try scrape(second).sum("httpdnsd_last_reload_failed") == 0)
        #expect(throws: Child.Failure.self) { try Socket(.stream, to: first) }
        #expect(try stream.receive().isEmpty)
        try daemon.rewrite(unusedUpstream)
        #expect(try daemon.control("reload").status == 0)
        #expect(throws: Child.Failure.self) { try Socket(.stream, to: second) }
        try daemon.stop()
    }

    @Test("even if a metrics address is in use, other addresses are served and a reload succeeds")
    func taken() throws {
        let foreign = try Socket(.stream, bound: true)
        try foreign.listen()
        func settings(_ place: String) -> String {
            "\(unusedUpstream)\nmetrics: {listen: [\"127.0.0.1:\(foreign.port)\", \"\(place)\"]}"
        }
        let (first, second) = ("127.0.0.1:\(try freePort())", "127.0.0.1:\(try freePort())")
        let daemon = try TestDaemon(settings(first))
        let error = "cannot serve metrics at 127.0.0.1:\(foreign.port): address already in use"
        _ = try daemon.program.line(with: "error: \(error)")
        #expect(try daemon.dig("localhost").data("A") == ["127.0.0.1"])
        let scratch = try Scratch()
        for place in [first, second] {
            try daemon.rewrite(settings(place))
            #expect(try daemon.control("reload").status == 0)
            let scrape = try Scrape(["http://\(place)/metrics"], in: scratch)
            #expect(scrape.sum("httpdnsd_build_info") == 1)
            let status = try daemon.control("status", "--json")
            #expect(status.status == 4)
            #expect(try JSON(status.output)["problems"].array.compactMap(\.string) == [error])
        }
        try daemon.stop()
    }

    @Test(
        "the daemon serves a metrics address that an interface gets after the start",
        .needs(.unshare, .ip)
    )
    func laterAddress() throws {
        let namespace = try Namespace()
        let settings =
            unusedUpstream + "\nmetrics: {listen: [\"127.0.0.1:9353\", \"192.0.2.7:9353\"]}"
        let daemon = try TestDaemon(settings, listen: "127.0.0.1:53", in: namespace)
        _ = try daemon.program.line(
            with: "metrics: no interface has the address 192.0.2.7:9353"
        )
        func scrape(_ server: String) throws -> Bool {
            let url = "http://\(server):9353/metrics"
            let end = try namespace.run("curl", ["--silent", "--fail", "--noproxy", "*", url])
            return end.output.contains("\nhttpdnsd_build_info{")
        }
        #expect(try scrape("127.0.0.1"))
        let status = try daemon.control("status", "--json")
        #expect(
            try JSON(status.output)["problems"].array.compactMap(\.string) == [
                "metrics: no interface has the address 192.0.2.7:9353"
            ]
        )
        try daemon.rewrite(settings + "\ncache: {maximum-ttl: 2h}", listen: "127.0.0.1:53")
        #expect(try daemon.control("reload").status == 0)
        try namespace.ip("address add 192.0.2.7/32 dev lo")
        #expect(try scrape("192.0.2.7"))
        #expect(try daemon.control("status", "--json").status == 0)
        try daemon.stop()
    }
}

extension Regex<AnyRegexOutput> {
    fileprivate func matches(in text: String) -> [String] {
        text.matches(of: self).map { String(text[$0.range]) }
    }
}
