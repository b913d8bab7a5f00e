// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import DNSCache
internal import Fleet
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

    /// Way to IPv4 servers through the NAT64.
    private let translation: AddressTranslation

    init(_ components: Components, _ translation: AddressTranslation, logger: Logger) {
        self.components = components
        self.translation = translation
        self.logger = logger
    }

    /// Detects the families of the network, and follows its NAT64 prefix.
    func startTranslation() {
        components.nat64.onChange = { [weak self] in self?.prefixChanged($0) }
        components.nat64.networkChanged()
    }

    /// Removes the answers of the former prefix, and repeats calls with the new one.
    private func prefixChanged(_ finding: NAT64.Finding?) {
        translation.use(finding)
        removeDenials()
        let event = finding.map { "\($0.prefix) (from \($0.server ?? "the settings"))" }
        renew(after: "NAT64 prefix: \(event ?? "none")")
    }

    /// Removes the cached answers that another NAT64 prefix would change.
    func removeDenials() {
        var sweep = components.resolver.prefixChanged()
        let clocks = components.clocks
        if sweep.step(now: clocks.now()) {
            ServiceLoop.task { [sweep] in
                await clocks.pause()
                _ = await sweep.finish(clocks)
            }
        }
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
        translation.networkChanged()
        renew(after: event)
        components.nat64.networkChanged()
    }

    /// Closes connections, repeats calls, and marks answers stale.
    private func renew(after event: String) {
        components.http?.reset()
        components.upstreamNetworkChanged()
        components.fleet?.networkChanged()
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
