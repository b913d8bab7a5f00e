// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import DNSCache
internal import Fleet
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

/// Reaction to a network change and to a resume from sleep.
///
/// Connections of the old network would hang for minutes, so they are closed, and pending calls are
/// sent again. Cached answers may suit the old network only, so they are marked stale.
@ServiceLoop
final class NetworkReaction {
    private(set) var numbers = NetworkEvents()

    var components: Components
    private let logger: Logger
    var onChange: (@ServiceLoop () -> Void)?

    private var network: NetworkWatch?
    private var resume: ResumeWatch?

    private let translation: AddressTranslation

    init(_ components: Components, _ translation: AddressTranslation, logger: Logger) {
        self.components = components
        self.translation = translation
        self.logger = logger
    }

    func startTranslation() {
        components.nat64.onChange = { [weak self] in self?.prefixChanged($0) }
        components.nat64.networkChanged()
    }

    private func prefixChanged(_ finding: NAT64.Finding?) {
        translation.use(finding)
        removeDenials()
        let event = finding.map { "\($0.prefix) (from \($0.server ?? "the settings"))" }
        renew(after: "NAT64 prefix: \(event ?? "none")")
    }

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

    /// Reacts in one iteration of the service loop; marks a large cache stale in later ones.
    func react(to event: String) {
        numbers.latest = components.clocks.now()
        translation.networkChanged()
        renew(after: event)
        components.nat64.networkChanged()
    }

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
