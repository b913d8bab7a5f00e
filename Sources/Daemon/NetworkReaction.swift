// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import DNSCache
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

/// Reaction to a change of the network and to a resume from sleep.
///
/// Connections of the old network would hang for minutes, so they are closed, and pending calls are
/// sent again. Cached answers may suit the old network only, so they are marked stale.
@ServiceLoop
final class NetworkReaction {
    private(set) var numbers = NetworkEvents()

    var components: Components
    private let logger: Logger
    /// Called after each change of the network.
    var onChange: (@ServiceLoop () -> Void)?

    private var network: NetworkWatch?
    private var resume: ResumeWatch?

    init(_ components: Components, logger: Logger) {
        self.components = components
        self.logger = logger
    }

    /// Starts to watch for events; logs a warning if an event source is not available.
    func start() {
        do {
            network = try NetworkWatch { [weak self] change in
                self?.numbers.changes += 1
                self?.react(to: "network changed: \(change)")
                self?.onChange?()
            }
        } catch {
            logger.warning(
                "network changes will not be detected: \(error); the sandbox may lack AF_NETLINK"
            )
        }
        do {
            resume = try ResumeWatch { [weak self] slept in
                self?.numbers.resumes += 1
                self?.react(to: "resumed after \(slept.components.seconds) s of sleep")
            }
        } catch {
            logger.warning("resume from sleep will not be detected: \(error)")
        }
    }

    /// Reacts in one iteration of the service loop; only a large cache is marked stale in later
    /// ones.
    func react(to event: String) {
        numbers.latest = components.clocks.now()
        components.http?.reset()
        components.upstreamNetworkChanged()
        let reissued = components.vendors.map { $0.client.networkChanged() }.reduce(0, +)
        var sweep = components.resolver.networkChanged()
        let clocks = components.clocks
        let isLong = sweep.step(now: clocks.now())
        logger.notice("\(event); connections closed, calls sent again: \(reissued)")
        guard isLong else { return logStaleEntries(sweep.count) }
        ServiceLoop.task { [self, sweep] in
            await clocks.pause()
            logStaleEntries(await sweep.finish(clocks))
        }
    }

    private func logStaleEntries(_ stale: Int) {
        logger.notice("cache: entries marked stale after a network change: \(stale)")
    }
}
