// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
internal import DNSCache
internal import Fleet
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

extension Components {
    /// Creates the fleet, or reuses the fleet of `old`; nil without `fleet`.
    static func fleet(
        _ settings: Settings,
        _ dependencies: Dependencies,
        succeeding old: Components?
    ) throws(StartError) -> Fleet? {
        guard let wanted = settings.fleet, let secret = wanted.secret?.value else { return nil }
        if let known = old?.fleet, old?.settings.fleet == wanted { return known }
        if let problem = RedisCodec.load() { throw .fleet(problem) }
        guard Digest.hasHMAC else { throw .fleet("OpenSSL has no HMAC-SHA256") }
        var tls: TLSClient?
        if wanted.tls {
            do throws(TLSError) {
                tls = try TLSClient(certificateFile: wanted.caFile)
            } catch {
                throw .fleet("\(error)")
            }
        }
        let place: EngineAccess.Place =
            wanted.sentinel.map { .sentinels($0.servers, master: $0.master) }
            ?? .servers(wanted.servers)
        var access = EngineAccess(
            place,
            user: wanted.user,
            open: EngineAccess.opening(tls, tlsName: wanted.tlsName)
        )
        if let password = wanted.password?.value { access.password = { password.copy } }
        return Fleet(
            access,
            FleetSeal { secret.code(of: $0) },
            machine: MachineName(wanted.name ?? OwnProcess.hostName ?? ""),
            identifier: dependencies.fleetState?.identifier() ?? FleetStateFile.newIdentifier(),
            wait: wanted.wait,
            timeout: wanted.timeout,
            clocks: dependencies.clocks
        )
    }

    func exchange() -> FleetExchange? {
        guard let fleet else { return nil }
        return FleetExchange(
            fleet,
            views: Dictionary(vendors.map { ($0.settings.name, $0.settings.fleetView) }) {
                first,
                _ in
                first
            },
            group: settings.fleet?.groupName,
            policy: TTLPolicy(settings.cache),
            staleTTL: settings.cache.stale?.ttl.wholeSeconds ?? 0
        )
    }
}

// MARK: - Beginning and end

extension Daemon {
    func startFleet(after old: Components? = nil) {
        if let former = old?.fleet, former !== components.fleet { former.stop() }
        let exchange = components.exchange()
        components.resolver.use(exchange)
        guard let fleet = exchange?.fleet else { return shareBudgets(nil) }
        fleet.staleWindow = components.settings.cache.stale?.window.wholeSeconds ?? 0
        fleet.observer = { [logger] in Self.log($0, logger) }
        shareBudgets(fleet)
        fleet.onFlush = { [weak self] in self?.carryOut($0, age: $1) }
        fleet.start()
    }

    private func shareBudgets(_ fleet: Fleet?) {
        let isShared = components.settings.fleet?.budget == .shared
        let budget = isShared ? fleet?.budget : nil
        var accounts: [String: FleetBudget.Account] = [:]
        for (settings, client) in components.vendors {
            guard let budget, let rule = client.budgetRule else {
                client.shareBudget(nil)
                continue
            }
            let name = settings.name
            accounts[name] = FleetBudget.Account(
                identity: settings.fleetAccount,
                limits: [rule.callsPerDay, rule.unitsPerDay, rule.unitsPerMonth],
                costs: [1, client.largestCost, client.largestCost]
            ) { [weak client] in
                client?.budgetUse().map { ($0.day, $0.month, $0.amounts) }
            }
            client.shareBudget { [weak budget] record in
                let (day, month) = (record.day, record.month)
                let use = record.amounts
                return budget?.claim(name, day: day, month: month, use: use).map { claim in
                    Budget.Part(limits: .init(claim.allowed), left: .init(claim.left(use)))
                }
            }
        }
        guard let budget else {
            fleet?.budget.use([:]) { _ in nil }
            return
        }
        let file = dependencies.fleetState
        budget.onChange = { file?.store($0, $1) }
        let known = file?.claims() ?? [:]
        budget.use(accounts) { known[$0] }
    }

    private static func log(_ notice: FleetNotice, _ logger: Logger) {
        switch notice {
        case .connected(let server, let loss):
            logger.notice(
                "fleet: connected to \(server), sharing answers",
                metadata: ["server": "\(server)", "after": "\(loss.map { "\($0)" } ?? "start")"]
            )
        case .alone(let error):
            logger.warning(
                """
                fleet: the Redis server is not used: \(error); this machine calls the vendors itself
                """,
                metadata: ["error": "\(error)"]
            )
        case .rejected(let reason):
            logger.warning(
                """
                fleet: ignoring a shared answer: \(reason.rawValue); further answers with this \
                fault are counted, but not logged
                """,
                metadata: ["reason": "\(reason.rawValue)"]
            )
        }
    }

    /// Applies a flush by another machine, also to a snapshot that is being loaded.
    private func carryOut(_ flush: FleetFlush, age: Duration) {
        let selection: AnswerCache.Selection =
            switch flush.scope {
            case .all: .all
            case .name(let name): .name(name, nil)
            case .tree(let name): .tree(name)
            }
        let (cache, clocks) = (components.cache, components.clocks)
        let time = clocks.now() - age
        components.resolver.vendors.forget()
        ServiceLoop.task { [logger, cacheFile] in
            await cacheFile?.loaded()
            let sweep = CacheSweep(
                cache,
                selection,
                flush.isSoft ? .markStale : .remove,
                storedUpTo: time
            )
            let count = await sweep.finish(clocks)
            logger.info("fleet: flush by another machine, cache entries flushed: \(count)")
        }
    }
}

extension UsageRecord {
    fileprivate var month: Int64 { Self.month(of: day) }

    /// Used amounts, in the order of the limits of a shared budget.
    fileprivate var amounts: [UInt64] { [callsToday, unitsToday, unitsThisMonth] }
}
