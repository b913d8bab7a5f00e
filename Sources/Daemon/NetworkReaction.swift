// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import DNSCache
internal import DNSWire
internal import Fleet
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver
internal import Upstream

/// Handler of network changes and of a resume from sleep.
///
/// Cached answers may be correct only in the old network, and old connections would hang.
@ServiceLoop
final class NetworkReaction {
    private(set) var numbers = NetworkEvents()
    private(set) var components: Components
    private let logger: Logger
    var onChange: (@ServiceLoop () -> Void)?
    private var network: NetworkWatch?
    private var resume: ResumeWatch?
    private var resolvers: ResolverWatch?
    private let firstReport = Waiter()
    private var advertisements: RouterOptionWatch?

    private(set) lazy var portal = PortalDetection(
        components.clocks,
        answers: { [weak self] in self?.components.answersOfInternet ?? 0 }
    ) { [weak self] in self?.logPortal($0) }

    /// Nil outside captive portal mode, and without a mirror.
    private var suspended: (any AnswerMirror)?

    private let translation: AddressTranslation
    private var pace = NetworkWatch.Pace()

    private var nextTest: Instant?
    private lazy var test = Alarm(components.clocks) { [weak self] in self?.testFamilies() }

    private var waiting: LearnedNetwork.Change?
    private var isRemoving = false

    private var lines = ChangeBudget(burst: 20, interval: .seconds(3))

    /// Limit on marking the whole cache stale, which causes billable calls.
    private var renewals = ChangeBudget(burst: 6, interval: .seconds(60))

    private var isRenewalLate = false

    private lazy var renewal = Alarm(components.clocks) { [weak self] in self?.markStale() }

    /// Limit on removals of synthesized answers, which can cause billable calls.
    private var removals = ChangeBudget(burst: 6, interval: .seconds(60))
    private lazy var removal = Alarm(components.clocks) { [weak self] in self?.removeTranslated() }

    init(_ components: Components, _ translation: AddressTranslation, logger: Logger) {
        self.components = components
        self.translation = translation
        self.logger = logger
        use(components)
    }

    func use(_ components: Components) {
        self.components = components
        let network = components.network
        network.report = { [logger] in logger.warning("\($0)") }
        network.onWithdrawal = { [weak self] servers in
            guard let components = self?.components else { return }
            for server in servers { components.upstreamHealth.forget(server) }
            components.resolver.forget(servers)
        }
        network.onChange = { [weak self] in self?.resolversChanged($0, $1) }
        network.onPortal = { [weak self] in self?.portalChanged($0) }
        if components.settings.portal == .off { network.endPortal() }
        resolvers?.changed()
    }

    // MARK: - Resolvers of the network

    func learnResolvers(_ dependencies: Dependencies) async {
        followResolvers(dependencies)
        _ = await firstReport.wait(until: components.clocks.now() + Self.resolverWait)
    }

    private static let resolverWait = Duration.seconds(1)

    func followResolvers(_ dependencies: Dependencies) {
        guard resolvers == nil else { return }
        resolvers = dependencies.resolvers({ [logger] in logger.warning("\($0)") }) {
            [weak self] links in
            self?.components.network.use(links, fault: self?.resolvers?.fileFaults.first)
            self?.firstReport.resume(.ready)
        }
        resolvers?.onPortal = { [weak self] in self?.portal.report($0) }
        resolvers?.start()
    }

    func stop() {
        resolvers?.stop()
        resolvers = nil
        advertisements = nil
    }

    private func resolversChanged(_ change: LearnedNetwork.Change, _ text: String) {
        if lines.spend(components.clocks.now()) == nil {
            logger.notice("\(text)")
        } else {
            logger.debug("\(text)")
        }
        if !change.domains.isEmpty || !change.sources.isEmpty {
            waiting = waiting?.merged(with: change) ?? change
            if !isRemoving { removeInvalid() }
        }
        guard change.hasOtherServers else { return }
        let now = components.clocks.now()
        if let earliest = nextTest, now < earliest { return test.bring(forward: earliest) }
        testFamilies()
    }

    private func removeInvalid() {
        guard let change = waiting.take() else { return }
        var sweep = components.resolver.networkResolversChanged(change)
        let clocks = components.clocks
        isRemoving = sweep.step(now: clocks.now())
        guard isRemoving else { return }
        ServiceLoop.task { [self, sweep] in
            await clocks.pause()
            _ = await sweep.finish(clocks)
            isRemoving = false
            removeInvalid()
        }
    }

    private func testFamilies() {
        guard components.nat64.onChange != nil else { return }
        let now = components.clocks.now()
        nextTest = now + pace.next(now)
        test.set(nil)
        components.nat64.networkChanged()
    }

    private func portalChanged(_ isOn: Bool) {
        let mirror = components.cache.setBypassed(isOn)
        if isOn { suspended = mirror } else { suspended?.resume() }
        if !isOn { suspended = nil }
        let servers = components.network.addresses.map { $0.address.host }.joined(separator: ", ")
        logger.notice(
            isOn
                ? "captive portal mode: nearly all queries go to the network's servers (\(servers))"
                : "captive portal mode: ended"
        )
    }

    private func logPortal(_ isKnown: Bool) {
        guard components.settings.portal == .automatic,
            lines.spend(components.clocks.now()) == nil
        else { return }
        logger.notice(
            isKnown
                ? "the network may have a captive portal: to log in, run `httpdnsctl portal`"
                : "the network no longer has a captive portal"
        )
    }

    /// Runs the first step of a sweep immediately, and the other steps in a task.
    func sweep(_ sweep: consuming CacheSweep) {
        var sweep = consume sweep
        let clocks = components.clocks
        guard sweep.step(now: clocks.now()) else { return }
        ServiceLoop.task { [sweep] in
            await clocks.pause()
            _ = await sweep.finish(clocks)
        }
    }

    func startTranslation() {
        let nat64 = components.nat64
        translation.isBroken = { [weak nat64] server in
            nat64?.isIPv4Broken ?? false && server.ip.reach == .global
        }
        nat64.onChange = { [weak self] in self?.prefixChanged($0) }
        components.nat64.networkChanged()
        do {
            advertisements = try RouterOptionWatch { [weak self] option, link in
                switch option {
                case .prefix(let prefix): self?.take(prefix, link)
                case .portal(let portal): self?.portal.announce(portal.isRestricted, on: link)
                }
            }
        } catch {
            logger.debug("options of router advertisements will not be used: \(error)")
        }
    }

    private func take(_ announced: AnnouncedPrefix, _ link: String) {
        guard let network = IPAddress(octets: announced.octets),
            let range = IPPrefix(containing: network, length: announced.length),
            let prefix = NAT64Prefix(range)
        else { return }
        components.nat64.announce(prefix, on: "router on \(link)", lifetime: announced.lifetime)
    }

    private func prefixChanged(_ finding: NAT64.Finding?) {
        translation.use(finding)
        removeTranslated()
        let event = finding.map { "\($0.prefix) (from \($0.server ?? "the settings"))" }
        renew(after: "NAT64 prefix: \(event ?? "none")")
    }

    /// Removes answers that depend on the NAT64 prefix.
    ///
    /// At the limit ``removals``, answers of vendors stay, because their replacement is billed.
    func removeTranslated() {
        let later = removals.spend(components.clocks.now())
        removal.set(later)
        let prefix = components.nat64.prefix
        sweep(components.resolver.prefixChanged(to: prefix, savesCalls: later != nil))
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
                """
                network changes will not be detected: \(error); if the service has a sandbox, add \
                AF_NETLINK to RestrictAddressFamilies=
                """
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

    /// Handles a network change or a resume; a large cache is marked stale in several steps.
    func react(to event: String) {
        numbers.latest = components.clocks.now()
        portal.networkChanged()
        translation.networkChanged()
        renew(after: event)
        components.nat64.networkChanged()
    }

    private func renew(after event: String) {
        components.http?.reset()
        components.upstreamNetworkChanged()
        components.network.networkChanged()
        components.fleet?.networkChanged()
        let reissued = components.vendors.map { $0.client.networkChanged() }.reduce(0, +)
        components.resolver.networkChanged()
        logger.notice("\(event); connections closed, calls sent again: \(reissued)")
        markStale()
    }

    private func markStale() {
        let clocks = components.clocks
        if let instant = renewals.spend(clocks.now()) {
            renewal.set(instant)
            guard !isRenewalLate else { return }
            isRenewalLate = true
            let seconds = (instant - clocks.now()).components.seconds + 1
            logger.notice(
                "cache: the network changes often; answers will be marked stale in \(seconds) s"
            )
            return
        }
        renewal.set(nil)
        isRenewalLate = false
        let now = clocks.now()
        var sweep = CacheSweep(components.cache, .all, .markStale, storedUpTo: now)
        guard sweep.step(now: now) else { return logStaleEntries(sweep.count) }
        ServiceLoop.task { [self, sweep] in
            await clocks.pause()
            logStaleEntries(await sweep.finish(clocks))
        }
    }

    private func logStaleEntries(_ stale: Int) {
        logger.notice("cache: entries marked stale after a network change: \(stale)")
    }
}
