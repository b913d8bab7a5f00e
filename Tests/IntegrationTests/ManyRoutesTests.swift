// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Memory of many routes", .needs(.dig), .hangLimit, .serialized)
struct ManyRoutesMemoryTests {
    private static let count = 20_000

    /// Memory of one set of routes, in MiB.
    private static let set = 20

    private static func settings(_ label: String) -> String {
        let routes = (0..<count).map {
            "  - {domains: [\(label)\($0).example.org], upstreams: [unused]}\n"
        }
        return """
            cache: {snapshot: off}
            \(unusedUpstream)
            routes:
            \(routes.joined())
            """
    }

    private static func memory(_ key: String, of daemon: TestDaemon) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(daemon.program.pid)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(key + ":") })
        return try #require(Int(line.filter(\.isNumber))) >> 10
    }

    @Test("during reloads of all routes, the daemon answers, and has at most two sets of routes")
    func reloads() throws {
        let daemon = try TestDaemon(Self.settings("a"))
        let start = try Self.memory("VmHWM", of: daemon)
        for label in ["b", "c", "d"] {
            try daemon.rewrite(Self.settings(label))
            let end = try daemon.control("reload", "--json")
            #expect(end.status == 0, "\(end.errors)")
            #expect(try JSON(end.output)["applied"].bool == true)
            #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        }
        let peak = try Self.memory("VmHWM", of: daemon)
        // `start` includes one set of routes, and a reload needs a second one. The rest of the
        // limit is for released memory that the allocator keeps.
        #expect(peak < start + 3 * Self.set, "\(start) MiB, then \(peak)")
        try daemon.stop()
    }
}
