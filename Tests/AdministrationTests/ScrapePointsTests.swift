// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import Net
import TestWorld
import Testing

@testable import Administration
@testable import Configuration

@Suite("Metrics sockets", .timeLimit(.minutes(15)))
@ServiceLoop
struct ScrapePointsTests {
    private let diary = LogRecorder()
    private let folder: String
    private var path: String { folder + "/metrics.sock" }

    init() throws {
        folder = try temporaryFolder()
    }

    private func points() -> ScrapePoints {
        ScrapePoints(logger: diary.logger) { MetricsReport(stats: StatsReply(sinceSeconds: 1)) }
    }

    private func settings(_ places: MetricsPlace...) -> MetricsSettings {
        var settings = MetricsSettings()
        settings.listen = places
        return settings
    }

    private func scrape() async throws -> String {
        let patience = Clock.now + .seconds(60)
        let client = try await StreamConnection.connect(unixPath: path, deadline: patience)
        try await client.write(Array("HEAD /metrics HTTP/1.0\r\n\r\n".utf8), deadline: patience)
        let reply = try await client.read(upTo: 1000, deadline: patience)
        return String(decoding: reply.prefix { $0 != 13 }, as: UTF8.self)
    }

    @Test("a metrics socket is opened again if its file is removed")
    func removed() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (points, settings) = (points(), settings(.path(path)))
        points.serve(points.bind(settings), as: settings)
        #expect(try await scrape() == "HTTP/1.1 200 OK")
        try FileManager.default.removeItem(atPath: path)
        while !FileManager.default.fileExists(atPath: path) { await Task.yield() }
        #expect(try await scrape() == "HTTP/1.1 200 OK")
        #expect(points.problems.isEmpty)
        #expect(diary.all.contains { $0.contains("\(path) was removed, opening it again") })
        points.stop()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("status shows a metrics socket that cannot be opened again")
    func blocked() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (points, settings) = (points(), settings(.path(path)))
        points.serve(points.bind(settings), as: settings)
        let obstacle = folder + "/foreign"
        try Data("foreign".utf8).write(to: URL(fileURLWithPath: obstacle))
        #expect(rename(obstacle, path) == 0)
        while points.problems.isEmpty { await Task.yield() }
        #expect(points.problems.contains { $0.contains("\(path): not a socket") })
        #expect(unlink(path) == 0)
        while !points.problems.isEmpty { await Task.yield() }
        #expect(try await scrape() == "HTTP/1.1 200 OK")
        points.stop()
    }

    @Test("a check reports each path at which a reload could not open a metrics socket")
    func unusable() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/file"
        try Data("foreign".utf8).write(to: URL(fileURLWithPath: file))
        let points = points()
        for place in ["/nonexistent/m.sock", file, file + "/m.sock", folder] {
            let settings = settings(.path(place))
            let errors = points.faults(binding: settings).map(\.description)
            #expect(errors.count == 1, "\(place)")
            let bound = points.bind(settings)
            #expect(bound.errors.map(\.description) == errors)
        }
        #expect(points.faults(binding: settings(.path(path))).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("a metrics address that no interface has is shown in `status`, but is not an error")
    func absentInterface() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let address = try #require(SocketAddress("[fe80::7%nosuch0]:9353"))
        let (points, settings) = (points(), settings(.address(address)))
        #expect(points.faults(binding: settings).isEmpty)
        let bound = points.bind(settings)
        #expect(points.firstNewError(in: bound) == nil)
        points.serve(bound, as: settings)
        let problems = ["metrics: no interface has the address [fe80::7%nosuch0]:9353"]
        #expect(points.problems == problems)
        points.interfacesChanged(settings)
        #expect(points.problems == problems)
        points.stop()
    }
}
