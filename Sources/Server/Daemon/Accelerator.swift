// SPDX-License-Identifier: Apache-2.0
internal import Acceleration
internal import Control
internal import DNSCache
internal import DNSWire
internal import Logging
internal import Net

/// Has the kernel answer who asks over loopback, and sees to it that nothing else changes by that.
///
/// What it answers is counted here, as soon as somebody looks and once a second.
@ServiceLoop
final class Accelerator {
    /// What the kernel answered.
    nonisolated let counters = QueryCounters()

    /// The same, a record for all answers to a question in a second.
    nonisolated let recent = RecentQueries()

    /// Who answers; nil if nobody but the workers does.
    private(set) var kernel: KernelAnswers?

    /// Why not.
    private var obstacle = "not started"

    /// The thread that loads it, and what comes of that.
    private var loading: (thread: WorkerThread, results: AsyncStream<Loaded>)?

    /// See `loading`.
    private typealias Loaded = Result<KernelAnswers, AccelerationError>
    private let cache: AnswerCache
    private let clocks: Clocks
    private let logger: Logger
    private var sweeping: Task<Void, Never>?

    /// What it is to go by, also while the kernel is not ready yet.
    private var latest: (settings: Settings, addresses: [SocketAddress])?
    private var isStopped = false

    /// Whether the log of queries wants to see them all.
    private var isLogged = false

    /// What an answer of the kernel counts as in latencies: it is not timed.
    private static let latency: Duration = .microseconds(1)

    /// The time between two collections, which is how late demand is known.
    private static let interval: Duration = .seconds(1)

    /// Records of one collection, of the questions that were asked most.
    private static let mostRecords = 256

    /// An accelerator that does nothing yet.
    init(_ cache: AnswerCache, clocks: Clocks, logger: Logger) {
        self.cache = cache
        self.clocks = clocks
        self.logger = logger
    }

    // MARK: - Starting and stopping

    /// Begins to load what answers in the kernel, if the settings want it.
    ///
    /// That takes 100 ms of a thread, which has the capabilities for it that its creator has at this
    /// moment; nothing afterwards needs any.
    ///
    /// - Throws: `StartError.system` if there can be no thread.
    func load(_ settings: Settings, in surroundings: Surroundings) throws(StartError) {
        guard settings.accelerate.loopback != .off else {
            obstacle = "accelerate.loopback is off"
            return
        }
        guard let make = surroundings.kernel else { return }
        let (entries, origin) = (settings.accelerate.entries, cache.origin)
        let seed = surroundings.seed
        let (results, result) = AsyncStream<Loaded>.makeStream()
        do throws(SocketError) {
            let thread = try WorkerThread(named: "kernel") {
                result.yield(
                    Loaded { () throws(AccelerationError) in
                        let kernel = try make(entries, origin, seed)
                        try kernel.attach()
                        return kernel
                    }
                )
                result.finish()
            }
            loading = (thread, results)
        } catch {
            throw .system(error)
        }
    }

    /// Has the kernel answer what comes to these addresses, as soon as it is loaded; until then
    /// everybody is answered by others.
    ///
    /// - Throws: `StartError.acceleration` if the settings require it, and it cannot.
    func start(_ settings: Settings, at addresses: [SocketAddress]) async throws(StartError) {
        guard let loading else { return }
        go(by: settings, at: addresses)
        var made: Loaded?
        for await result in loading.results { made = result }
        // It has done its work and is about to end.
        loading.thread.join()
        self.loading = nil
        guard !isStopped, let made else { return }
        switch made {
        case .success(let kernel): begin(kernel)
        case .failure(let error):
            guard settings.accelerate.loopback != .required else { throw .acceleration(error) }
            obstacle = "\(error)"
            logger.info("acceleration is off, all queries are answered by workers: \(error)")
        }
    }

    private func begin(_ kernel: KernelAnswers) {
        self.kernel = kernel
        if let latest { go(by: latest.settings, at: latest.addresses) }
        cache.setMirror(kernel)
        sweeping = ServiceLoop.task { [clocks] in
            // Ends by being cancelled only.
            while (try? await clocks.sleep(clocks.now() + Self.interval)) != nil { self.collect() }
        }
    }

    /// Answers nobody any more.
    func stop() {
        isStopped = true
        guard let kernel else { return }
        sweeping?.cancel()
        kernel.suspend()
        collect()
        cache.setMirror(nil)
    }

    // MARK: - Changing

    /// Answers at these addresses from now on, and whom these settings let ask.
    ///
    /// A family of which not all of the loopback addresses may ask is a worker's: it knows who.
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

    /// Lets workers see every query while `body` runs.
    func resting<Result>(
        _ body: () async throws -> sending Result
    ) async rethrows -> sending Result {
        kernel?.suspend()
        defer { kernel?.resume() }
        collect()
        return try await body()
    }

    // MARK: - Counting

    /// Takes down what the kernel answered since this was done before.
    func collect() {
        guard kernel != nil else { return }
        var noted = cache.collectMirroredHits()
        for (hits, _) in noted {
            let outcome = QueryOutcome(rcode: UInt16(hits.rcode), isEmpty: hits.isEmpty)
            counters.count(.cache, outcome, .udp, times: hits.times)
            counters.hitLatency.note(Self.latency, times: hits.times)
        }
        if noted.count > Self.mostRecords {
            noted.sort { $0.hits.times > $1.hits.times }
            noted.removeLast(noted.count - Self.mostRecords)
        }
        let now = clocks.now()
        for (hits, name) in noted {
            if let name { recent.note(hits, name: name, at: now) }
        }
    }

    /// How it stands, for people and programs.
    var status: AccelerationStatus {
        guard let kernel else { return AccelerationStatus(state: .off, why: obstacle) }
        let numbers = kernel.numbers
        var status = AccelerationStatus(state: .on)
        status.entries = UInt64(numbers.entries)
        status.answers = numbers.answers
        if isLogged {
            status.state = .resting
            status.why = "the log of queries sees all of them"
        } else if numbers.isSuspended {
            status.state = .resting
            status.why = "somebody watches the queries"
        } else if !numbers.families.ipv4, !numbers.families.ipv6 {
            status.state = .off
            status.why = "`allow` does not let all of 127.0.0.0/8 ask, nor ::1"
        }
        return status
    }
}

extension IPPrefix {
    /// Whether all addresses of 127.0.0.0/8 are in the network.
    fileprivate var containsLoopback: Bool {
        contains(IPv4Address(value: 0x7F00_0000)) && contains(IPv4Address(value: 0x7FFF_FFFF))
    }
}
