// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Prober that measures TCP connection times, and orders cached addresses by them.
///
/// No answer waits for a measurement.
@ServiceLoop
package final class AddressProber {
    /// Opens a connection to an address; returns true if it succeeds before `deadline`.
    package typealias Probe =
        @Sendable @ServiceLoop (AddressRanking.Target, _ deadline: Instant) async ->
        Bool

    struct Job {
        let question: Question
        let variant: AnswerVariant
        let addresses: [IPAddress]
        let port: UInt16
    }

    static let queueLimit = 256

    static let concurrency = 4

    static let addressLimit = 8

    /// Maximum number of records in an answer; answers with more records are not ordered.
    ///
    /// The time for ordering is quadratic in the number of records.
    nonisolated static let recordLimit = 64

    static let timeout: Duration = .seconds(1)

    /// After the measurements of a name, the prober pauses for this time × the number of new
    /// measurements.
    static let pause: Duration = .milliseconds(100)

    private(set) var ranking = AddressRanking()

    private let probe: Probe
    private let cache: AnswerCache
    private let clocks: Clocks
    private var queue: [Job] = []
    private var running = 0

    /// Measurements in flight; names with the same address and port share a measurement.
    private var underWay: [AddressRanking.Target: Task<Void, Never>] = [:]

    private var networksLeft: UInt64 = 0

    private(set) var dropped: UInt64 = 0

    init(_ probe: @escaping Probe, cache: AnswerCache, clocks: Clocks) {
        self.probe = probe
        self.cache = cache
        self.clocks = clocks
    }

    /// Measures the addresses that have no valid result, and then reorders the cached answer.
    func order(_ job: Job) {
        guard !unknown(job).isEmpty else {
            reorder(job)
            return
        }
        guard queue.count < Self.queueLimit else {
            dropped += 1
            return
        }
        queue.append(job)
        guard running < Self.concurrency else { return }
        running += 1
        ServiceLoop.task { [self] in
            while !queue.isEmpty { await run(queue.removeFirst()) }
            running -= 1
        }
    }

    func networkChanged() {
        networksLeft += 1
        ranking.removeAll()
        underWay = [:]
        queue = []
    }

    // MARK: - Measurements

    private func unknown(_ job: Job) -> [AddressRanking.Target] {
        let now = clocks.now()
        return job.addresses.prefix(Self.addressLimit)
            .map { AddressRanking.Target($0, port: job.port) }
            .filter { !ranking.knows($0, now: now) }
    }

    private func run(_ job: Job) async {
        let targets = unknown(job)
        let new = targets.filter { underWay[$0] == nil }
        for target in new {
            underWay[target] = ServiceLoop.task { [self] in await attempt(target) }
        }
        for task in targets.compactMap({ underWay[$0] }) { await task.value }
        reorder(job)
        try? await clocks.sleep(clocks.now() + Self.pause * new.count)
    }

    private func attempt(_ target: AddressRanking.Target) async {
        let (start, before) = (clocks.now(), networksLeft)
        let isReached = await probe(target, start + Self.timeout)
        guard before == networksLeft else { return }
        let end = clocks.now()
        ranking.note(target, isReached ? end - start : nil, now: end)
        underWay[target] = nil
    }

    private func reorder(_ job: Job) {
        let now = clocks.now()
        cache.reorder(
            job.question,
            variant: job.variant,
            ranking.ordered(job.addresses, port: job.port, now: now),
            now: now
        )
    }
}
