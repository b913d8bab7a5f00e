// SPDX-License-Identifier: Apache-2.0
import Acceleration
import DNSCache
import Net
import TestWorld
import Testing

@testable import Configuration
@testable import Daemon

@Suite("Acceleration that the machine does not offer")
struct AcceleratorTests {
    /// Starts an accelerator on a machine without CAP_BPF, and returns the lines of its log.
    @ServiceLoop
    private func start(_ loopback: AccelerateSettings.Loopback) async throws -> [String] {
        let diary = LogRecorder()
        let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
        let accelerator = Accelerator(cache, clocks: .system, logger: diary.logger)
        var settings = Settings()
        settings.accelerate.loopback = loopback
        var dependencies = Dependencies.system
        dependencies.kernel = { _, _, _ throws(AccelerationError) in
            throw .forbidden(what: "the map of settings")
        }
        try accelerator.load(settings, in: dependencies)
        try await accelerator.start(settings, at: [])
        accelerator.stop()
        return diary.all
    }

    @Test
    func `auto logs one line at level info`() async throws {
        let lines = try await start(.auto)
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("info: "))
        #expect(line.contains("CAP_BPF") && line.contains("CAP_NET_ADMIN"))
    }

    @Test
    func `off logs nothing`() async throws {
        #expect(try await start(.off).isEmpty)
    }

    @Test
    func `required refuses to start`() async throws {
        await #expect(throws: StartError.self) { try await start(.required) }
    }
}
