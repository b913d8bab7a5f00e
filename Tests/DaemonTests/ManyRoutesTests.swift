// SPDX-License-Identifier: Apache-2.0
import Administration
import Control
import Net
import TestWorld
import Testing

@testable import Configuration
@testable import DNSWire
@testable import Daemon
@testable import Resolver

@Suite("Many routes", .timeLimit(.minutes(15)))
struct ManyRoutesTests {
    private static let count = 100_000

    /// Parses on a thread of its own, because all tests share the service loop, which must not be
    /// blocked.
    private static func settings(changed: Bool) async throws -> Settings {
        try await WorkerThread.run(named: "settings") {
            var text = "upstreams:\n"
            for name in ["first", "second"] {
                text += "  - {name: \(name), url: \"udp://127.0.0.9\"}\n"
            }
            text += "routes:\n"
            for number in 0..<count {
                let upstream = changed && number % 100 == 0 ? "second" : "first"
                text += "  - {domains: [n\(number).example.org], upstreams: [\(upstream)]}\n"
            }
            return Result { () throws(SettingsErrors) in
                try Settings(
                    parsing: Array(text.utf8),
                    fileName: "f",
                    environment: SettingsEnvironment()
                )
            }
        }.get()
    }

    @ServiceLoop
    private static func upstreams(_ number: Int, _ components: Components) throws -> [String] {
        let name = try Name("www.n\(number).example.org")
        let query = Query(question: Question(name: name, type: .a))
        let match = try #require(components.resolver.preview(query).match)
        #expect(match.route.place == "f:\(number + 5)")
        return components.settings.routes[number].upstreams
    }

    @Test("routes are released on a background thread if they have at least 1,000 domains in total")
    @ServiceLoop
    func released() throws {
        func components(_ domains: Int) throws -> Components {
            let list = (0..<domains).map { "n\($0).example.org" }.joined(separator: ", ")
            let text = """
                upstreams: [{name: first, url: "udp://127.0.0.9"}]
                routes: [{domains: [\(list)], upstreams: [first]}]

                """
            return try Components(try Settings(parsing: text, fileName: "f"), in: .system)
        }
        #expect(OldRoutes(try components(OldRoutes.many)) != nil)
        #expect(OldRoutes(try components(OldRoutes.many - 1)) == nil)
    }

    @Test("a reload that changes 1,000 of 100,000 routes applies exactly these changes")
    @ServiceLoop
    func reload() async throws {
        let (old, changed) = (
            try await Self.settings(changed: false), try await Self.settings(changed: true)
        )
        let empty = try Components(Settings(), in: .system)
        let components = try await Components.make(
            try await PreparedReload.make(old, after: Settings()).settled,
            in: .system,
            succeeding: empty
        )
        #expect(components.settings.routes.count == Self.count)
        #expect(try Self.upstreams(Self.count - 100, components) == ["first"])
        let prepared = try await PreparedReload.make(changed, after: old)
        let outcome = prepared.outcome
        #expect(outcome.changes.count + outcome.unlistedChanges == 2 * Self.count / 100)
        #expect(outcome.problems.isEmpty && outcome.needsRestart.isEmpty)
        let new = try await Components.make(prepared.settled, in: .system, succeeding: components)
        #expect(new.settings.routes.count == Self.count)
        for number in [0, 100, Self.count - 100] {
            #expect(try Self.upstreams(number, new) == ["second"], "\(number)")
        }
        for number in [1, 99, Self.count - 1] {
            #expect(try Self.upstreams(number, new) == ["first"], "\(number)")
        }
    }
}
