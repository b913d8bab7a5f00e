// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSCache
internal import DNSWire
internal import Frontend
internal import Glibc
internal import HTTPDNS
internal import Net
internal import Resolver

extension StatusReply {
    @ServiceLoop
    init(_ state: DaemonState, _ resolvConf: ResolvConf, uptimeSeconds: Int, now: Instant) {
        let vendors = state.vendors.map {
            VendorStatus($0.settings, $0.client.statistics, now: now)
        }
        let upstreams = state.upstreams.map {
            UpstreamStatus($0, state.upstreamHealth, now: now)
        }
        let reload = state.reloadProblem.map {
            "the last reload failed (the old configuration is in force): \($0)"
        }
        let snapshot = state.cacheFile?.fault.map { "snapshot of the cache: \($0)" }
        let isLocal = SettingsEnvironment.process.isLocal
        let absent = state.listeners
            .filter { !$0.address.ip.isUnspecified && !isLocal($0.boundAddress) }
            .map { "listener \($0.address): no interface has this address" }
        let portal =
            state.hasPortal && state.learned.portalEnd == nil
            ? "the network may have a captive portal: run `httpdnsctl portal` to log in" : nil
        let fleet = FleetStatus(state.resolver.vendors.fleet, state.clocks)
        let local = resolvConf.problem(allow: state.settings.allow)
        let problems =
            [reload, snapshot, portal, fleet.problem, local].compactMap(\.self)
            + state.fileProblems + absent
            + vendors.compactMap(\.problem) + upstreams.compactMap(\.problem)
            + state.pauseProblems
        self.init(
            state: problems.isEmpty ? .ready : .degraded,
            version: Product.version,
            pid: Int(getpid()),
            uptimeSeconds: uptimeSeconds
        )
        listeners = state.listeners.flatMap { listener in
            ["udp", "tcp"].map { transport in
                ListenerStatus(
                    address: "\(listener.address)",
                    transport: transport,
                    origin: listener.isPassed ? "socket-activation" : "settings"
                )
            }
        }
        self.vendors = vendors
        self.upstreams = upstreams
        let numbers = state.cache.numbers
        cache = CacheUsage(
            entries: numbers.entries,
            octets: numbers.octets,
            limitOctets: numbers.limitOctets
        )
        cache.snapshot = state.cacheFile.map { SnapshotStatus($0, now: now) }
        network = NetworkStats(state.network, now: now)
        network.servers = state.learned.addresses.map(\.text)
        network.domains = state.learned.domains.map { domain in
            NetworkDomain(
                domain: domain.domain.text,
                link: domain.link,
                servers: domain.servers.map(\.text)
            )
        }
        network.portal = state.hasPortal || state.learned.portalEnd != nil
        network.portalSeconds = state.learned.portalEnd?.seconds(from: now)
        network.stack = state.nat64.stack.rawValue
        if let finding = state.nat64.finding {
            network.nat64 = "\(finding.prefix)"
            network.nat64From = finding.server ?? "settings"
            network.nat64AgeSeconds = now.seconds(since: finding.since)
        }
        state.accelerator.collect()
        acceleration = state.accelerator.status
        self.fleet = fleet
        self.resolvConf = resolvConf
        self.problems = problems
    }
}

extension LinkResolvers.Server {
    var text: String { address.port == 53 ? address.host : "\(address)" }
}

extension SnapshotStatus {
    init(_ file: CacheFileState, now: Instant) {
        self.init(path: file.path)
        if let latest = file.latest {
            ageSeconds = now.seconds(since: latest.instant)
            entries = latest.entries
            octets = UInt64(latest.octets)
        }
        lastError = file.fault
    }
}

extension Duration {
    var inMilliseconds: Double {
        let parts = components
        let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
        return Double(microseconds) / 1_000
    }
}

extension Instant {
    func seconds(since earlier: Instant) -> Int { Int((self - earlier).components.seconds) }

    /// Returns the seconds until this instant, rounded up; 0 if the instant has passed.
    func seconds(from now: Instant) -> Int {
        guard now < self else { return 0 }
        let parts = (self - now).components
        return Int(parts.seconds) + (parts.attoseconds > 0 ? 1 : 0)
    }
}
