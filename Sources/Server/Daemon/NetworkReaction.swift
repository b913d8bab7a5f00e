// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

/// What the daemon does when the network is another one, or the machine has slept.
///
/// Connections lead through a network that is gone, and would be silent for minutes; answers were
/// chosen for a place where we no longer are.  So connections are dropped, calls under way sent
/// again, and answers kept, but as stale ones.
@ServiceLoop
final class NetworkReaction {
    /// What was noticed since the start.
    struct Numbers {
        /// Changes of the network.
        var changes: UInt64 = 0

        /// Sleeps of the machine.
        var resumes: UInt64 = 0

        /// When the latest of either was.
        var latest: ContinuousClock.Instant?
    }

    private(set) var numbers = Numbers()

    /// What is reacted for.
    var assembly: Assembly
    private let logger: Logger
    private var network: NetworkWatch?
    private var resume: ResumeWatch?

    /// Makes what reacts for `assembly`; nothing is watched yet.
    init(_ assembly: Assembly, logger: Logger) {
        self.assembly = assembly
        self.logger = logger
    }

    /// Begins to watch.
    ///
    /// What cannot be watched is a warning: a daemon that notices less still answers.
    func start() {
        do {
            network = try NetworkWatch { [weak self] change in
                self?.numbers.changes += 1
                self?.react(to: "network changed: \(change)")
            }
        } catch {
            logger.warning(
                "changes of the network will not be noticed (\(error)); does the sandbox lack AF_NETLINK?"
            )
        }
        do {
            resume = try ResumeWatch { [weak self] slept in
                self?.numbers.resumes += 1
                self?.react(to: "resumed after \(slept.components.seconds) s of sleep")
            }
        } catch {
            logger.warning("resuming from sleep will not be noticed (\(error))")
        }
    }

    /// Does all that is to be done, in one turn of the loop: nothing is sent in between.
    ///
    /// Only where the cache is large, not all of its answers are stale at once: that takes as long as
    /// such a change often is not noticed, and no client waits for it.
    func react(to event: String) {
        numbers.latest = assembly.clocks.now()
        assembly.http?.reset()
        assembly.upstreamNetworkChanged()
        let reissued = assembly.vendors.map { $0.client.networkChanged() }.reduce(0, +)
        var sweep = assembly.resolver.networkChanged()
        let clocks = assembly.clocks
        let isLong = sweep.step(now: clocks.now())
        logger.notice("\(event); connections dropped, calls sent again: \(reissued)")
        guard isLong else { return tell(sweep.count) }
        ServiceLoop.task { [self, sweep] in
            await clocks.lull()
            tell(await sweep.finish(clocks))
        }
    }

    private func tell(_ stale: Int) {
        logger.notice("answers marked stale after a change of the network: \(stale)")
    }
}
