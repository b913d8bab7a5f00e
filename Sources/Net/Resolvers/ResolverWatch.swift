// SPDX-License-Identifier: Apache-2.0

/// Watch for the DNS servers and routing domains of this machine's networks.
///
/// The sources are systemd-resolved and NetworkManager over D-Bus, the files of resolvconf,
/// openresolv, dhcpcd and dhclient, and the copy of `/etc/resolv.conf` from `httpdnsctl setup`.
@ServiceLoop
package final class ResolverWatch {
    private let handler: @ServiceLoop ([LinkResolvers]) -> Void

    let report: @ServiceLoop (String) -> Void

    /// Called when NetworkManager detects a captive portal (true), and at its end (false).
    package var onPortal: (@ServiceLoop (Bool) -> Void)?
    private var hasPortal = false

    private static let connectivityPortal: Int64 = 2

    let files: ResolverFiles
    private let busAddress: String?
    private let isOwn: (SocketAddress) -> Bool

    private var links: LinkWatch?
    private var bus: SystemBus?
    private var opening: Task<Void, Never>?
    private var watches: [FileWatch] = []

    var resolved = ResolvedState()

    var networkManager = NetworkManagerState()

    private var absences: [String: LoopTimer] = [:]

    /// Time for which the latest reply of a stopped service stays valid: the service may restart.
    private static let restartTime = Duration.seconds(5)

    private var retries: [String: LoopTimer] = [:]
    private var pauses: [String: Duration] = [:]
    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    private var routes = ServerRoutes()
    private var routeTimer: LoopTimer?
    private static let routeTime = Duration.seconds(2)

    /// Number of the latest D-Bus call; replies to earlier calls are ignored.
    private var queries: [String: UInt64] = [:]

    private var awaited: Set<String> = []

    private var repeated: [LoopTimer] = []
    private static let repetitions: [Duration] = [.milliseconds(300), .seconds(1), .seconds(3)]

    /// Timer for the next query to systemd-resolved.
    ///
    /// systemd-resolved sends no signal if only domains, `DNSOverTLS` or `DefaultRoute` change.
    /// The daemon cannot watch its files, because only root can read them.
    private var poll: LoopTimer?
    private static let pollTime = Duration.seconds(10)

    private var timer: LoopTimer?
    private var patience: LoopTimer?
    private var latest: [LinkResolvers]?
    var reported: Set<String> = []
    var problems: [String] = []

    package internal(set) var fileFaults: [String] = []

    private static let settling = Duration.milliseconds(20)

    private static let startTime = Duration.milliseconds(500)

    static let maximumReports = 64

    package init(
        _ files: ResolverFiles = ResolverFiles(),
        bus: String? = nil,
        isOwn: @escaping (SocketAddress) -> Bool = { $0.isOwn },
        report: @escaping @ServiceLoop (String) -> Void,
        _ handler: @escaping @ServiceLoop ([LinkResolvers]) -> Void
    ) {
        self.files = files
        busAddress = bus
        self.isOwn = isOwn
        self.report = report
        self.handler = handler
    }

    package func start() {
        do {
            links = try LinkWatch { [weak self] in self?.resolvedChanged() }
        } catch {
            report(
                """
                network resolvers: cannot watch links: \(error); the DNS settings of links can be \
                unknown or out of date
                """
            )
        }
        for directory in files.directories {
            watch(directory.path, isDirectory: true) { $0.changed() }
        }
        for (source, path) in files.files {
            watch(path) { if source == .resolved { $0.resolvedChanged() } else { $0.changed() } }
        }
        watch(files.states, isDirectory: true) { $0.resolvedChanged() }
        let services = [SystemBus.Object.resolved, .networkManager, .connectivity]
        awaited = Set(services.map(\.service))
        patience = LoopTimer(at: Clock.now + Self.startTime) { [weak self] in
            self?.awaited = []
            self?.changed()
        }
        let bus = SystemBus(busAddress, watching: services) { [weak self] service in
            let isResolved = service == SystemBus.Object.resolved.service
            if isResolved { self?.resolvedChanged() } else { self?.query(service) }
        }
        // Watches the path first, so that a socket which is created meanwhile is not missed.
        if !bus.mayRun, let path = bus.socketPath {
            watch(path) { if bus.mayRun { $0.load(bus) } }
        }
        if bus.mayRun {
            resolved.hasNotReplied()
            load(bus)
        } else {
            awaited = []
        }
        changed()
    }

    private func load(_ bus: SystemBus) {
        guard opening == nil else { return }
        opening = ServiceLoop.task { [weak self] in
            let problem = await SystemBus.load()
            guard let self, !Task.isCancelled else { return }
            if let problem {
                report(
                    """
                    network resolvers: cannot use the system bus: \(problem); DNS servers are read \
                    only from files
                    """
                )
            } else {
                self.bus = bus
                openBus()
            }
            guard !bus.isOpen else { return }
            awaited = []
            resolved.hasStopped()
            changed()
        }
    }

    package func stop() {
        opening?.cancel()
        bus?.close()
        (links, bus, watches) = (nil, nil, [])
        let timers =
            [timer, patience, routeTimer, poll].compactMap(\.self) + absences.values
            + retries.values + repeated
        for timer in timers { timer.cancel() }
        (timer, patience, routeTimer, poll) = (nil, nil, nil, nil)
        (absences, retries, repeated) = ([:], [:], [])
    }

    private func watch(
        _ path: String,
        isDirectory: Bool = false,
        _ handler: @escaping @ServiceLoop (ResolverWatch) -> Void
    ) {
        let watch = FileWatch(path, isDirectory: isDirectory) { [weak self] in self.map(handler) }
        watches.append(watch)
        if let fault = watch.fault {
            report("network resolvers: cannot watch \(path): \(fault); polling every 10 s")
        }
    }

    private func openBus() {
        do throws(SocketError) {
            try bus?.open()
        } catch {
            if retries[""] == nil {
                report(
                    "network resolvers: cannot watch the system bus: \(error); retrying every 10 s"
                )
            }
            retries[""] = LoopTimer(at: Clock.now + Self.pollTime) { [weak self] in
                self?.openBus()
                self?.query(SystemBus.Object.networkManager.service)
                self?.resolvedChanged()
            }
        }
    }

    // MARK: - D-Bus

    /// Reads the state of systemd-resolved now, and again after each of ``repetitions``.
    ///
    /// A program sets the options of a link in separate steps, and systemd-resolved reads a changed
    /// file of systemd-networkd only after some time.
    private func resolvedChanged() {
        query(SystemBus.Object.resolved.service)
        changed()
        for timer in repeated { timer.cancel() }
        let now = Clock.now
        repeated = Self.repetitions.map { pause in
            LoopTimer(at: now + pause) { [weak self] in
                self?.query(SystemBus.Object.resolved.service)
            }
        }
    }

    private func query(_ service: String) {
        if service == SystemBus.Object.connectivity.service { queryConnectivity() }
        let number = (queries[service] ?? 0) + 1
        queries[service] = number
        let object: SystemBus.Object =
            service == SystemBus.Object.resolved.service ? .resolved : .networkManager
        bus?.properties(object) { [weak self] reply in
            guard let self, queries[service] == number else { return }
            guard object == .resolved, case .value(let manager) = reply else {
                return received(reply, of: object, [:])
            }
            let indexes = LinkResolvers.indexes(inResolved: manager).filter { $0 != 0 }
            queryLinks(indexes[...], [:]) { [weak self] links in
                guard let self, queries[service] == number else { return }
                received(links == nil ? .noReply : reply, of: object, links ?? [:])
            }
        }
    }

    private func queryConnectivity() {
        bus?.properties(.connectivity) { [weak self] reply in
            guard let self else { return }
            let isBlocked = reply.value?["Connectivity"]?.number == Self.connectivityPortal
            guard isBlocked != hasPortal else { return }
            hasPortal = isBlocked
            onPortal?(isBlocked)
        }
    }

    /// Completes with nil if systemd-resolved did not reply in time.
    private func queryLinks(
        _ indexes: ArraySlice<Int32>,
        _ found: [Int32: BusValue],
        _ completion: @escaping @ServiceLoop ([Int32: BusValue]?) -> Void
    ) {
        guard let index = indexes.first, let bus else { return completion(found) }
        bus.properties(.resolvedLink(index)) { [weak self] reply in
            if case .noReply = reply { return completion(nil) }
            var found = found
            found[index] = reply.value
            self?.queryLinks(indexes.dropFirst(), found, completion)
        }
    }

    private func received(
        _ reply: SystemBus.Properties,
        of object: SystemBus.Object,
        _ links: [Int32: BusValue]
    ) {
        let service = object.service
        let isKnown = object == .resolved ? resolved.isKnown : networkManager.isKnown
        switch reply {
        case .noReply:
            if object == .resolved { resolved.hasNotReplied() }
            if !isKnown { settle(service) }
            let pause = min((pauses[service] ?? Self.shortestPause / 2) * 2, Self.longestPause)
            pauses[service] = pause
            retries[service]?.cancel()
            retries[service] = LoopTimer(at: Clock.now + pause) { [weak self] in
                self?.query(service)
            }
        case .absent where isKnown:
            guard absences[service] == nil else { return }
            absences[service] = LoopTimer(at: Clock.now + Self.restartTime) { [weak self] in
                self?.store(nil, of: object, [:])
            }
        case .absent, .value:
            pauses[service] = nil
            store(reply.value, of: object, links)
        }
    }

    private func store(
        _ reply: BusValue?,
        of object: SystemBus.Object,
        _ links: [Int32: BusValue]
    ) {
        switch (object, reply) {
        case (.resolved, let reply?):
            resolved.hasReplied(reply, links)
            poll?.cancel()
            poll = LoopTimer(at: Clock.now + Self.pollTime) { [weak self] in
                self?.query(object.service)
            }
        case (.resolved, nil): resolved.hasStopped()
        case (_, let reply?): networkManager.hasReplied(reply)
        case (_, nil): networkManager.hasStopped()
        }
        settle(object.service)
    }

    private func settle(_ service: String) {
        absences.removeValue(forKey: service)?.cancel()
        awaited.remove(service)
        changed()
    }

    // MARK: - Result

    package func changed() {
        guard timer == nil else { return }
        timer = LoopTimer(at: Clock.now + Self.settling) { [weak self] in
            self?.timer = nil
            self?.update()
        }
    }

    private func update() {
        guard awaited.isEmpty else { return }
        let all = links?.links
        let names = Set((all ?? [:]).values.map(\.name))
        let running = all.map { links in
            let running = links.lazy.filter(\.value.isRunning)
            return Dictionary(
                running.map { index, link in
                    let number = UInt32(clamping: index)
                    return (
                        link.name, LinkResolvers.Interface(index: number, isTunnel: link.isTunnel)
                    )
                },
                uniquingKeysWith: { first, _ in first }
            )
        }
        let formerFaults = fileFaults
        let settings = resolved.settings((all ?? [:]).mapValues(\.name), running: running)
        let sources = resolved.isSilent ? [] : self.sources(settings, names, running)
        let indexes = Set((running ?? [:]).values.map(\.index))
        routes.keep(indexes)
        let merged = LinkResolvers.merged(sources, running: running, isOwn: isOwn) {
            routes.isReached($0, through: $1)
        }
        reportProblems()
        checkRoutesLater(merged)
        guard merged != latest || fileFaults != formerFaults else { return }
        latest = merged
        handler(merged)
    }

    /// Checks the IP routes to VPN servers again later.
    ///
    /// A VPN program sets the DNS servers first, and adds the IP routes to them afterwards.
    private func checkRoutesLater(_ links: [LinkResolvers]) {
        let isNew = routes.hasNewUnbound(links)
        guard isNew || routeTimer == nil && links.contains(where: \.isSplitTunnel) else { return }
        routeTimer?.cancel()
        let time = Clock.now + (isNew ? Self.routeTime : Self.pollTime)
        routeTimer = LoopTimer(at: time) { [weak self] in
            self?.routeTimer = nil
            self?.changed()
        }
    }
}
