// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Glibc
import HTTPDNS
import TestWorld
import Testing

@testable import Configuration

@Suite("A later settings file changes or adds options")
struct SettingsDropInTests {
    private func files(_ texts: [String]) -> [SettingsFile] {
        zip(["f", "g", "h"], texts).map { SettingsFile(name: $0, octets: [UInt8]($1.utf8)) }
    }

    private func settings(_ texts: String...) throws -> Settings {
        try Settings(parsing: files(texts), environment: SettingsEnvironment())
    }

    private func problems(_ texts: String...) -> [String] {
        do throws(SettingsErrors) {
            _ = try Settings(parsing: files(texts), environment: SettingsEnvironment())
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test("a value or list in a drop-in replaces the value or list in an earlier file")
    func values() throws {
        let loaded = try settings(
            isp + "listen: [192.0.2.1, 192.0.2.2]\nallow: [192.0.2.0/24]\nworkers: 3",
            "listen: [127.0.0.1]\nallow: []"
        )
        #expect(texts(loaded.listen) == ["127.0.0.1:53"])
        #expect(loaded.allow.isEmpty)
        #expect(loaded.workers == 3)
    }

    @Test("the number of patterns has a limit; the error is at the first route above the limit")
    func patterns() throws {
        func routes(_ numbers: Range<Int>) -> String {
            "routes:\n"
                + numbers.map { "  - {domains: [n\($0).example], upstreams: [isp]}\n" }.joined()
        }
        let most = SettingsLimits.patterns
        #expect(try settings(isp + routes(0..<most)).routes.count == most)
        let more =
            "routes: [{domains: [a.example, b.example], except: [c.a.example], upstreams: [isp]}]"
        expectErrors(
            problems(isp + routes(0..<most - 2), more),
            ["g:1:10: \(most) `domains` `except`"]
        )
        #expect(try settings(isp + routes(0..<most - 3), more).routes.count == most - 2)
        #expect(try settings(isp + routes(0..<most), "routes: []", more).routes.count == 1)
    }

    @Test("the total size of the files has a limit")
    func octets() throws {
        let folder = try TemporaryFolder()
        let filler = "#" + String(repeating: "x", count: YAMLReader.maximumOctets / 2 - 100) + "\n"
        let main = try folder.write(Array((isp + filler).utf8), to: "f.yaml")
        try #require(mkdir("\(main).d", 0o700) == 0)
        defer { rmdir("\(main).d") }
        defer { for name in ["a", "b"] { unlink("\(main).d/\(name).yaml") } }
        _ = try folder.write(Array(filler.utf8), to: "f.yaml.d/a.yaml")
        _ = try Settings.load(file: main)
        _ = try folder.write(
            Array("#\(String(repeating: "y", count: 300))".utf8),
            to: "f.yaml.d/b.yaml"
        )
        let errors = #expect(throws: SettingsErrors.self) { try Settings.load(file: main) }
        expectErrors(errors?.problems.map(\.description) ?? [], ["\(main).d/b.yaml: 16 MiB"])
    }

    @Test("a drop-in with the suffix .yml or .conf is ignored with a warning")
    func misnamed() throws {
        let folder = try TemporaryFolder()
        let main = try folder.write(isp, to: "f.yaml")
        try #require(mkdir("\(main).d", 0o700) == 0)
        defer { rmdir("\(main).d") }
        let names = ["a.yml", "b.yaml", "c.txt", "d.conf"]
        defer { for name in names { unlink("\(main).d/\(name)") } }
        for name in names { _ = try folder.write("workers: 2\n", to: "f.yaml.d/\(name)") }
        _ = try folder.write("workers: 3\n", to: "f.yaml.d/a.yml")
        let loaded = try Settings.load(file: main, environment: SettingsEnvironment())
        #expect(loaded.workers == 2)
        expectErrors(
            loaded.warnings.map(\.description),
            ["\(main).d/a.yml: ignored .yaml rename", "\(main).d/d.conf: ignored .yaml rename"]
        )
        withExtendedLifetime(folder) {}
    }

    @Test("a drop-in can set single options of a section of an earlier file")
    func sections() throws {
        let loaded = try settings(
            isp + "cache: {size: 1MiB, negative-ttl: {minimum: 1s}, stale: {after: 0s}}",
            "cache: {negative-ttl: {maximum: 1m}, stale: {ttl: 1s}}"
        )
        #expect(loaded.cache.size == 1 << 20)
        #expect(loaded.cache.negativeTTL.minimum == .seconds(1))
        #expect(loaded.cache.negativeTTL.maximum == .seconds(60))
        #expect(loaded.cache.stale?.after == .zero)
        #expect(loaded.cache.stale?.ttl == .seconds(1))
    }

    @Test(
        "if a later file changes a section from `off` to `on`, the section has its default values"
    )
    func off() throws {
        let off = "cache: {stale: off}"
        #expect(try settings(isp + "cache: {stale: {after: 0s}}", off).cache.stale == nil)
        let again = try settings(isp + "cache: {stale: {after: 0s}}", off, "cache: {stale: on}")
        #expect(again.cache.stale == CacheSettings.Stale())
    }

    @Test(
        "if a drop-in sets a section to `off`, the options of the section in earlier files are lost"
    )
    func required() {
        let vendor = "kind: json, url: \"https://dns.example/r\", servers: [192.0.2.1]"
        let route = "routes: [{domains: [example.com], vendors: [v]}]\n"
        #expect(
            problems(
                isp + route + "vendors: {v: {\(vendor), budget: {calls-per-day: 1}}}",
                "vendors: {v: {budget: off}}",
                "vendors: {v: {budget: {on-exceeded: warn}}}"
            ).allSatisfy { $0.hasPrefix("h:1:23: the budget of the vendor `v`") }
        )
    }

    @Test("a drop-in can add vendors, and change the vendors of earlier files")
    func vendors() throws {
        let json = "kind: json, url: \"https://dns.example/r\", servers: [192.0.2.1]"
        let loaded = try settings(
            isp + "vendors: {a: {\(json)}}\nroutes: [{domains: [example.com], vendors: [a, b]}]",
            "vendors: {b: {\(json)}, a: {timeout: 1s, servers: [192.0.2.2]}}"
        )
        #expect(loaded.vendors.map(\.name) == ["a", "b"])
        #expect(loaded.vendors.map(\.client.timeout) == [.seconds(1), .seconds(2)])
        #expect(loaded.vendors.map { texts($0.servers) } == [["192.0.2.2:443"], ["192.0.2.1:443"]])
        #expect(loaded.vendors.map(\.place.description) == ["f:2", "g:1"])
    }

    @Test("a drop-in cannot change the kind of a vendor of an earlier file")
    func kind() {
        let json = "kind: json, url: \"https://dns.example/r\", servers: [192.0.2.1]"
        expectErrors(
            problems(
                isp + "vendors: {a: {\(json)}}\nroutes: [{domains: [example.com], vendors: [a]}]",
                "vendors: {a: {kind: baidu}}",
                "vendors: {a: {kind: json, timeout: 0s}}"
            ),
            ["g:1:21: `a` already json f:2", "h:1:36: `vendors.a.timeout` 100ms 5s `0s`"]
        )
    }

    @Test("the routes of a drop-in are added, with their file and line")
    func routes() throws {
        let loaded = try settings(
            isp + "routes: [{domains: [a.example], upstreams: [isp]}]",
            "\nroutes: [{domains: [b.example], upstreams: [isp]}]"
        )
        #expect(loaded.routes.map(\.place.description) == ["f:2", "g:2"])
    }

    @Test("a drop-in can change the upstreams of earlier files, and add upstreams at the end")
    func upstreams() throws {
        let loaded = try settings(
            isp,
            "upstreams: [{name: b, url: \"udp://192.0.2.2\"}, {name: isp, timeout: 1s}]"
        )
        #expect(loaded.upstreams.map(\.name) == ["isp", "b"])
        #expect(loaded.upstreams.first?.timeout == .seconds(1))
        #expect(loaded.upstreams.first?.url.description == "udp://192.0.2.53")
    }

    @Test("an empty list removes the entries of earlier files, even invalid entries")
    func empty() throws {
        let loaded = try settings(
            isp,
            "upstreams: []",
            "upstreams: [{name: b, url: \"udp://192.0.2.2\"}]"
        )
        #expect(loaded.upstreams.map(\.name) == ["b"])
        expectErrors(
            problems(isp, "upstreams: []", "upstreams: [{name: isp}]"),
            ["h:1:13: `upstreams.url` missing"]
        )
    }

    @Test("a hosts record in a drop-in adds a name, or replaces the addresses in an earlier file")
    func records() throws {
        let loaded = try settings(
            isp + "hosts: {records: {a.lan: [192.0.2.1], b.lan: [192.0.2.2]}}",
            "hosts: {files: [], records: {B.lan: [192.0.2.3], c.lan: [192.0.2.4]}}"
        )
        #expect(loaded.hosts.files.isEmpty)
        #expect(
            loaded.hosts.records.map { "\($0.name.text) \($0.addresses)" } == [
                "a.lan [192.0.2.1]", "B.lan [192.0.2.3]", "c.lan [192.0.2.4]",
            ]
        )
    }

    @Test("errors of all files are reported in order")
    func errors() {
        expectErrors(
            problems(
                isp + "\n\nworkers: 0",
                "cache: {sise: 1MiB}",
                "routes:\n  - {domains: [example.com], upstreams: [ips]}"
            ),
            [
                "f:4:10: `workers` `auto` 256 `0`",
                "g:1:9: unknown `sise` `cache` `size`",
                "h:2:42: `ips` `isp`",
            ]
        )
        #expect(
            problems(isp, "log: {level: nothing", "log: {level: all}").map { $0.prefix(2) }
                == ["g:", "h:"]
        )
    }

    @Test("the error for a conflict between two files names both places")
    func pointers() {
        let route = "routes: [{domains: [example.com], upstreams: [isp]}]"
        expectErrors(problems(isp + route, route), ["g:1:21: `example.com` already f:2"])
    }

    @Test("a duplicate upstream in a drop-in is an error")
    func twice() {
        let pair = "{name: b, url: \"udp://192.0.2.2\"}"
        expectErrors(problems(isp, "upstreams: [\(pair), \(pair)]"), ["g:1:55: duplicate `b` 1"])
    }

    @Test("a drop-in that changes an upstream of an earlier file twice is an error")
    func changedTwice() throws {
        let change = "upstreams: [{name: isp, timeout: 1s}"
        expectErrors(
            problems(isp, "\(change), {name: isp, timeout: 2s}]"),
            ["g:1:46: `upstreams` `isp` 1"]
        )
        let loaded = try settings(isp, "\(change)]", "upstreams: [{name: isp, timeout: 2s}]")
        #expect(loaded.upstreams.map(\.timeout) == [.seconds(2)])
    }
}
