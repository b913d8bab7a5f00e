// SPDX-License-Identifier: Apache-2.0
import Acceleration
import Control
import DNSCache
import DNSWire
import Frontend
import Net
import TestWorld
import Testing

@testable import Configuration
@testable import Daemon

@Suite("Acceleration that the machine does not offer")
struct AcceleratorTests {
    private static func settings(_ loopback: AccelerateSettings.Loopback) -> Settings {
        var settings = Settings()
        settings.accelerate.loopback = loopback
        return settings
    }

    @Test(
        "a reload to `required` fails if acceleration failed, and warns if acceleration was `off`",
        arguments: [AccelerateSettings.Loopback.auto, .off]
    )
    @ServiceLoop
    func required(_ running: AccelerateSettings.Loopback) async throws {
        let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
        let accelerator = Accelerator(cache, clocks: .system, logger: LogRecorder().logger)
        var dependencies = Dependencies.system
        dependencies.kernel = { _, _, _ throws(AccelerationError) in
            throw .forbidden(what: "the map of settings")
        }
        try accelerator.load(Self.settings(running), in: dependencies)
        let required = Self.settings(.required)
        #expect(accelerator.fault(startingWith: required) == nil)
        // The scripts that install the daemon search for this text.
        let early = accelerator.warning(startingWith: required)
        #expect(early?.hasSuffix("would have no DNS") == true)
        try await accelerator.start(Self.settings(running), at: [])
        defer { accelerator.stop() }
        let fault = accelerator.fault(startingWith: required).map { "\($0)" }
        #expect((fault?.contains("CAP_BPF") ?? false) == (running == .auto))
        #expect((fault?.contains("would have no DNS") ?? false) == (running == .auto))
        let warning = accelerator.warning(startingWith: required)
        #expect((warning?.hasSuffix("would have no DNS") ?? false) == (running == .off))
        for other in [AccelerateSettings.Loopback.auto, .off] {
            #expect(accelerator.fault(startingWith: Self.settings(other)) == nil)
            #expect(accelerator.warning(startingWith: Self.settings(other)) == nil)
        }
    }

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
    func `mode auto logs one line at level info`() async throws {
        let lines = try await start(.auto)
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("info: "))
        #expect(line.contains("CAP_BPF") && line.contains("CAP_NET_ADMIN"))
    }

    /// Starts an accelerator that loads the BPF program after one second; returns its log.
    @ServiceLoop
    private func startLater(
        _ event: @ServiceLoop (Accelerator, TestClock) -> Void
    ) async throws -> [String] {
        let (diary, hours) = (LogRecorder(), TestClock())
        let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
        let accelerator = Accelerator(cache, clocks: hours.clocks, logger: diary.logger)
        var dependencies = Dependencies.system
        dependencies.kernel = { _, _, _ throws(AccelerationError) in
            throw .forbidden(what: "the map of settings")
        }
        try accelerator.load(Settings(), in: dependencies)
        let starting = ServiceLoop.throwingTask {
            guard await accelerator.wait(.seconds(1)) else { return }
            try await accelerator.start(Settings(), at: [])
        }
        await hours.rest()
        #expect(diary.all.isEmpty)
        #expect(accelerator.status.state == .off && accelerator.status.why == "loading")
        event(accelerator, hours)
        try await starting.value
        return diary.all
    }

    @Test
    func `the BPF program is loaded after the delay`() async throws {
        let lines = try await startLater { _, hours in hours.advance(by: 1) }
        #expect(lines.count == 1)
    }

    @Test
    func `a stop during the delay prevents the load of the BPF program`() async throws {
        let lines = try await startLater { accelerator, _ in accelerator.stop() }
        #expect(lines.isEmpty)
    }

    @Test
    func `mode off logs nothing`() async throws { #expect(try await start(.off).isEmpty) }

    @Test
    func `mode required refuses to start`() async throws {
        await #expect(throws: StartError.self) { try await start(.required) }
    }
}

@Suite(
    "Suspension of the BPF program",
    .enabled(
        if: (try? KernelAnswers(entries: 1, origin: Clock.now, seed: 1)) != nil,
        "BPF programs need CAP_BPF and CAP_NET_ADMIN"
    )
)
struct AccelerationSuspensionTests {
    @Test
    @ServiceLoop
    func `a program loaded during a suspension answers after the suspension`() async throws {
        let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
        let accelerator = Accelerator(cache, clocks: .system, logger: LogRecorder().logger)
        var dependencies = Dependencies.system
        dependencies.kernel = { entries, origin, seed throws(AccelerationError) in
            try KernelAnswers(entries: entries, origin: origin, seed: seed)
        }
        try accelerator.load(Settings(), in: dependencies)
        try await accelerator.suspended {
            try await accelerator.start(Settings(), at: [])
            #expect(accelerator.status.state == .resting)
        }
        #expect(accelerator.status.state == .on)
        await accelerator.suspended { #expect(accelerator.status.state == .resting) }
        #expect(accelerator.status.state == .on)
        accelerator.stop()
    }
}

/// Mirror in which each copied answer has one new hit at every collection of hits.
private final class BusyMirror: AnswerMirror {
    static let copies = 5_000

    func store(
        _ answer: MirroredAnswer,
        name: RawSpan,
        ttlOffsets: RawSpan,
        sections: RawSpan
    ) -> Bool { false }

    func remove(name: RawSpan, type: UInt16, variant: AnswerVariant) {}

    func change(_ changes: () -> Void) { changes() }

    func suspend() {}

    func resume() {}

    func newHits(from position: Int, count: Int) -> MirroredHitStride {
        let end = min(position + count, Self.copies)
        var hits = MirroredHits()
        hits.times = 1
        var stride = MirroredHitStride()
        stride.hits = Array(repeating: hits, count: end - position)
        stride.next = end < Self.copies ? end : nil
        return stride
    }
}

@Suite("Counting of the kernel's answers")
@ServiceLoop
struct KernelHitsTests {
    private let hours = TestClock()
    private let cache: AnswerCache
    private let accelerator: Accelerator

    init() {
        cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 1)
        cache.setMirror(BusyMirror())
        accelerator = Accelerator(cache, clocks: hours.clocks, logger: LogRecorder().logger)
    }

    private var counted: UInt64 {
        var sum = LatencySum()
        accelerator.counters.hitLatency.add(to: &sum)
        return sum.count
    }

    @Test
    func `counting the hits of many kernel answers pauses after each step`() async {
        let collecting = accelerator.startCollecting()
        defer { collecting.cancel() }
        await hours.rest()
        #expect(counted == 0)
        for steps in 1...20 {
            hours.advance(by: 1)
            await hours.rest()
            #expect(counted == min(UInt64(steps) * 256, UInt64(BusyMirror.copies)))
        }
    }

    @Test
    func `a reader of counters waits for a bounded number of kernel answers`() {
        accelerator.collect()
        #expect(counted == 4_096)
    }
}
