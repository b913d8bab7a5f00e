// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Tries how soon servers answer, in the background, and puts cached addresses in that order.
///
/// Nobody waits for it, and it costs others little: a few names at a time, each server once in some
/// minutes, and what does not fit the queue is left as it is.
@ServiceLoop
package final class Probing {
    /// Tries to reach a server until a deadline; whether somebody answered.
    package typealias Probe =
        @Sendable @ServiceLoop (AddressRanking.Target, _ deadline: ContinuousClock.Instant) async ->
        Bool

    /// The addresses of an answer in the cache.
    struct Job {
        let question: Question
        let variant: AnswerVariant
        let addresses: [IPAddress]
        let port: UInt16
    }

    /// Names that may wait.
    static let queueLimit = 256

    /// Names whose servers are tried at a time.
    static let lanes = 4

    /// Servers of a name that are tried.
    static let addressLimit = 8

    /// How long a server is waited for; one that takes longer is none.
    static let patience: Duration = .seconds(1)

    /// What a lane waits after each server, which makes 40 a second at most.
    static let pause: Duration = .milliseconds(100)

    private(set) var ranking = AddressRanking()

    private let probe: Probe
    private let cache: AnswerCache
    private let clocks: Clocks
    private var queue: [Job] = []
    private var busyLanes = 0

    /// Servers that are being tried, each once for all names that lead to it.
    private var underWay: [AddressRanking.Target: Task<Void, Never>] = [:]

    /// Networks that were left so far.
    private var networksLeft: UInt64 = 0

    /// Names that were left as they are because too many waited.
    private(set) var dropped: UInt64 = 0

    /// Makes one that tries nothing yet.
    init(_ probe: @escaping Probe, cache: AnswerCache, clocks: Clocks) {
        self.probe = probe
        self.cache = cache
        self.clocks = clocks
    }

    /// Puts a cached answer in order, as soon as it is known which.
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
        guard busyLanes < Self.lanes else { return }
        busyLanes += 1
        ServiceLoop.task { [self] in
            while !queue.isEmpty { await run(queue.removeFirst()) }
            busyLanes -= 1
        }
    }

    /// The network is another one, in which other servers are near.
    ///
    /// What is being tried may go on, but says nothing any more.
    func networkChanged() {
        networksLeft += 1
        ranking.removeAll()
        underWay = [:]
        queue = []
    }

    // MARK: - Trying

    /// The servers of which it has to be found out.
    private func unknown(_ job: Job) -> [AddressRanking.Target] {
        let now = clocks.now()
        return job.addresses.prefix(Self.addressLimit)
            .map { AddressRanking.Target($0, port: job.port) }
            .filter { !ranking.knows($0, now: now) }
    }

    /// Tries the servers of a name, all at once, and waits for those that another name has tried.
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
        let isReached = await probe(target, start + Self.patience)
        guard before == networksLeft else { return }
        let end = clocks.now()
        ranking.note(target, isReached ? end - start : nil, now: end)
        underWay[target] = nil
    }

    /// Puts what the cache has now in order, if it still is that answer.
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
