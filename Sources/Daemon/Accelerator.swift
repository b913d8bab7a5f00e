// SPDX-License-Identifier: Apache-2.0
internal import Acceleration
internal import Administration
internal import Configuration
internal import Control
internal import DNSCache
internal import DNSWire
internal import Frontend
internal import Logging
internal import Net
internal import Resolver

/// Controller of the BPF program that answers loopback clients with copies of cache entries.
///
/// Counts the hits once a second, and before a control verb reads them.
@ServiceLoop
final class Accelerator: ManagedAccelerator {
    package nonisolated let counters = QueryCounters()

    /// One record counts the kernel's answers to one question in one second.
    package nonisolated let recent = RecentQueries()

    private(set) var kernel: KernelAnswers?
    private var obstacle = "not started"

    /// Nil if the load succeeded, or was not attempted.
    private var failure: AccelerationError?

    private var delay: Waiter?

    private var loading: Loading?

    private typealias Loaded = Result<KernelAnswers, AccelerationError>

    private struct Loading {
        let thread: WorkerThread
        let gate: Gate
        let results: AsyncStream<Loaded>
    }

    private let cache: AnswerCache
    private let clocks: Clocks
    private let logger: Logger
    private var sweeping: Task<Void, Never>?
    private var latest: (settings: Settings, addresses: [SocketAddress])?
    private var isStopped = false
    private var isLogged = false

    private var suspensions = 0

    private static let latency: Duration = .microseconds(1)

    private static let interval: Duration = .seconds(1)
    private static let mostRecords = 256

    /// Maximum steps (of 256 copies) in a `collect` call; 16 steps take about 2 ms.
    private static let mostSteps = 16

    init(_ cache: AnswerCache, clocks: Clocks, logger: Logger) {
        self.cache = cache
        self.clocks = clocks
        self.logger = logger
    }

    // MARK: - Starting and stopping

    /// Creates the thread that loads the BPF program, before the daemon drops its capabilities.
    ///
    /// The thread waits for `start`: the kernel needs 50 ms of CPU time to verify the program. This
    /// could delay the first answers.
    func load(_ settings: Settings, in dependencies: Dependencies) throws(StartError) {
        guard settings.accelerate.loopback != .off else {
            obstacle = "accelerate.loopback is off"
            return
        }
        guard let make = dependencies.kernel else { return }
        let (entries, origin) = (settings.accelerate.entries, cache.origin)
        let seed = dependencies.seed
        let (results, result) = AsyncStream<Loaded>.makeStream()
        do throws(SocketError) {
            let gate = try Gate()
            let thread = try WorkerThread(named: "kernel") {
                gate.wait()
                result.yield(
                    Loaded { () throws(AccelerationError) in
                        let kernel = try make(entries, origin, seed)
                        try kernel.attach()
                        return kernel
                    }
                )
                result.finish()
            }
            loading = Loading(thread: thread, gate: gate, results: results)
            obstacle = "loading"
        } catch {
            throw .system(error)
        }
    }

    func wait(_ time: Duration) async -> Bool {
        guard !isStopped else { return false }
        let waiter = Waiter()
        delay = waiter
        return await waiter.wait(until: clocks.now() + time, clocks) == .timedOut
    }

    /// Loads the BPF program, then enables the program for `addresses`.
    ///
    /// - Throws: `StartError.acceleration` if acceleration is required but not available.
    func start(_ settings: Settings, at addresses: [SocketAddress]) async throws(StartError) {
        guard let loading else { return }
        loading.gate.open()
        go(by: settings, at: addresses)
        var made: Loaded?
        for await result in loading.results { made = result }
        loading.thread.join()
        self.loading = nil
        guard !isStopped, let made else { return }
        switch made {
        case .success(let kernel): begin(kernel)
        case .failure(let error):
            guard settings.accelerate.loopback != .required else { throw .acceleration(error) }
            obstacle = "\(error)"
            failure = error
            logger.info("acceleration: off, workers answer all queries: \(error)")
        }
    }

    /// Returns the error that a start with these settings would cause; nil for none.
    ///
    /// A reload does not load the BPF program.
    func fault(startingWith settings: Settings) -> StartError? {
        guard settings.accelerate.loopback == .required, let failure else { return nil }
        return .accelerationAtStart(failure)
    }

    /// Returns a warning if acceleration is required, but was not tested.
    func warning(startingWith settings: Settings) -> String? {
        guard settings.accelerate.loopback == .required, kernel == nil, failure == nil else {
            return nil
        }
        let (reason, advice) =
            loading == nil
            ? (
                "started with `off`",
                "set `auto`, restart the daemon, and run `httpdnsctl status`"
            ) : ("has just started", "run `httpdnsctl check` again")
        return
            "`accelerate.loopback: required` is not tested, because the daemon \(reason) (to test "
            + "this, \(advice)): if the kernel is older than 6.6, or capabilities are missing, "
            + SettingsComplaint.outage
    }

    private func begin(_ kernel: KernelAnswers) {
        self.kernel = kernel
        for _ in 0..<suspensions { kernel.suspend() }
        if let latest { go(by: latest.settings, at: latest.addresses) }
        cache.setMirror(kernel)
        sweeping = startCollecting()
    }

    func startCollecting() -> Task<Void, Never> {
        ServiceLoop.task { [clocks] in
            while (try? await clocks.sleep(clocks.now() + Self.interval)) != nil {
                await self.collectAll()
            }
        }
    }

    func stop() {
        isStopped = true
        delay?.resume(.cancelled)
        guard let kernel else { return }
        sweeping?.cancel()
        kernel.suspend()
        var pass = Pass()
        while step(&pass) {}
        record(pass)
        cache.setMirror(nil)
    }

    // MARK: - Changing

    /// Applies new settings: the BPF program answers over IPv4 if `allow` contains 127.0.0.0/8, and
    /// over IPv6 if `allow` contains ::1.
    func go(by settings: Settings, at addresses: [SocketAddress]) {
        latest = (settings, addresses)
        guard let kernel else { return }
        kernel.answer(
            at: addresses.map { ($0.ip, $0.port) },
            ipv4: settings.allow.contains(where: \.containsLoopback),
            ipv6: settings.allow.contains { $0.contains(IPv6Address(high: 0, low: 1)) }
        )
        guard settings.log.queries != isLogged else { return }
        isLogged = settings.log.queries
        if isLogged { kernel.suspend() } else { kernel.resume() }
    }

    /// Suspends the BPF program during `body`, so that the workers receive every query.
    package func suspended(while body: () async throws -> Void) async rethrows {
        suspensions += 1
        kernel?.suspend()
        defer {
            suspensions -= 1
            kernel?.resume()
        }
        await collectAll()
        try await body()
    }

    // MARK: - Counting

    package func collect() {
        var pass = Pass()
        for _ in 0..<Self.mostSteps {
            guard step(&pass) else { break }
        }
        record(pass)
    }

    private func collectAll() async {
        var pass = Pass()
        while step(&pass) { await clocks.pause() }
        record(pass)
    }

    private struct Pass {
        var position = 0
        var most: [MirroredHits] = []

        mutating func keep(_ count: Int) {
            guard most.count > count else { return }
            most.sort { $0.times > $1.times }
            most.removeLast(most.count - count)
        }
    }

    /// Returns true if more copies follow.
    private func step(_ pass: inout Pass) -> Bool {
        let (found, next) = cache.collectMirroredHits(from: pass.position)
        for hits in found {
            let outcome = QueryOutcome(rcode: UInt16(hits.rcode), isEmpty: hits.isEmpty)
            counters.count(.cache, outcome, .udp, times: hits.times)
            counters.hitLatency.note(Self.latency, times: hits.times)
        }
        pass.most += found
        pass.keep(Self.mostRecords)
        guard let next else { return false }
        pass.position = next
        return true
    }

    private func record(_ pass: Pass) {
        let now = clocks.now()
        for (hits, name) in zip(pass.most, cache.names(of: pass.most)) {
            if let name { recent.note(hits, name: name, at: now) }
        }
    }

    package var status: AccelerationStatus {
        guard let kernel else { return AccelerationStatus(state: .off, why: obstacle) }
        let numbers = kernel.numbers
        var status = AccelerationStatus(state: .on)
        status.entries = UInt64(numbers.entries)
        status.answers = numbers.answers
        if isLogged {
            status.state = .resting
            status.why = "`log.queries` is on"
        } else if numbers.isSuspended {
            status.state = .resting
            status.why = suspensions > 0 ? "`httpdnsctl watch` is running" : "captive portal mode"
        } else if !numbers.families.ipv4, !numbers.families.ipv6 {
            status.state = .off
            status.why = "`allow` must contain all of 127.0.0.0/8, or ::1"
        }
        return status
    }
}

extension IPPrefix {
    fileprivate var containsLoopback: Bool {
        contains(IPv4Address(value: 0x7F00_0000)) && contains(IPv4Address(value: 0x7FFF_FFFF))
    }
}
