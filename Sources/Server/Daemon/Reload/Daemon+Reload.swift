// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

// MARK: - Reloading

extension Daemon {
    /// Puts the settings of the file in force, all of them or none.
    ///
    /// Everything that can fail is done before anything changes: reading, checking, making the new
    /// parts, binding new addresses, reading hosts files.  Then the one takes the place of the other
    /// in a single turn of the loop.  Whoever asks for it while it happens is answered by the next.
    func reload() async -> ReloadOutcome {
        await reloads.turn { [self] in
            ServiceManager.reloading()
            let outcome = await attempt()
            guard !isStopping || outcome.isApplied else {
                logger.notice("stopping before the settings were reloaded")
                return outcome
            }
            log(outcome)
            life.note(outcome)
            ServiceManager.ready(
                status: outcome.isApplied
                    ? readiness : "\(readiness); the last reload failed, see the log"
            )
            return outcome
        }
    }

    /// What a reload would come to, of the daemon's file or of the text of another; changes nothing.
    ///
    /// Whether addresses are free and hosts files can be read is not tried.
    func rehearse(_ other: (text: String, file: String)?) async -> ReloadOutcome {
        let source = source
        let read = await read { () throws(SettingsErrors) in
            if let other { try source.check(other.text, other.file) } else { try source.load() }
        }
        switch read {
        case .failure(let errors):
            return ReloadOutcome(problems: errors.problems, warnings: errors.warnings)
        case .success(let wanted):
            var outcome = ReloadOutcome()
            do throws(StartError) {
                let prepared = try await PreparedReload.make(wanted, after: assembly.settings)
                outcome = prepared.outcome
                _ = try await Assembly.make(
                    prepared.settled,
                    in: surroundings,
                    succeeding: assembly
                )
            } catch {
                outcome.problems = [problem(error, other?.file ?? source.file)]
            }
            return outcome
        }
    }

    /// Does what `reload` says.
    private func attempt() async -> ReloadOutcome {
        let source = source
        let wanted: Settings
        switch await read({ () throws(SettingsErrors) in try source.load() }) {
        case .success(let settings): wanted = settings
        case .failure(let errors):
            return ReloadOutcome(problems: errors.problems, warnings: errors.warnings)
        }
        // What is loaded now was judged by the settings of before.
        await cacheFile?.loaded()
        var outcome = ReloadOutcome()
        do throws(StartError) {
            let prepared = try await PreparedReload.make(wanted, after: assembly.settings)
            outcome = prepared.outcome
            let settings = prepared.settled.settings
            let new = try await Assembly.make(
                prepared.settled,
                in: surroundings,
                succeeding: assembly
            )
            let renamed = try await renamedRoutes(new)
            let bound = try reception.bind(settings)
            let scraped = try scrapePoints.bind(settings.metrics)
            var hosts: NewHosts?
            if settings.hosts != assembly.settings.hosts {
                hosts = await HostsFiles.reading(settings.hosts, logger)
            }
            do throws(StartError) {
                guard !isStopping, let misses else { throw .stopping }
                let staff = Reception.Staff(assembly: new, desk: desk, misses: misses, own: own)
                try reception.serve(bound, by: staff)
            } catch {
                hosts?.files.stop()
                throw error
            }
            let isLarge = assembly.settings.routes.count >= OldRoutes.many
            let old = isLarge ? OldRoutes(assembly) : nil
            let sweep = putInForce(new, hosts, renamed)
            if let old { release(old) }
            scrapePoints.serve(scraped, as: settings.metrics)
            outcome.isApplied = true
            if let sweep { outcome.removedAnswers = await finish(sweep) }
        } catch {
            outcome.problems = [problem(error, source.file)]
        }
        return outcome
    }

    /// Reads settings on a thread that may wait for a disk.
    private func read(
        _ load: @escaping @Sendable () throws(SettingsErrors) -> Settings
    ) async -> Result<Settings, SettingsErrors> {
        do throws(SocketError) {
            return try await WorkerThread.run(named: "settings") {
                Result { () throws(SettingsErrors) in try load() }
            }
        } catch {
            return .failure(SettingsErrors(problems: [problem(.system(error), source.file)]))
        }
    }

    /// Changes that are logged one by one.
    private static let loggedChanges = 100

    /// What does not work without being wrong in the file.
    private func problem(_ error: StartError, _ file: String) -> SettingsProblem {
        SettingsProblem(file: file, line: 0, column: 0, message: "\(error)")
    }

    private func log(_ outcome: ReloadOutcome) {
        for warning in outcome.warnings { logger.warning("\(warning)") }
        guard outcome.isApplied else {
            for problem in outcome.problems { logger.error("\(problem)") }
            logger.error("reload failed, keeping the old configuration")
            return
        }
        for change in outcome.changes.prefix(Self.loggedChanges) {
            logger.notice("reload: \(change)")
        }
        let further = outcome.changes.count + outcome.unlistedChanges - Self.loggedChanges
        if further > 0 { logger.notice("reload: \(further) more changes") }
        for option in outcome.needsRestart {
            logger.warning("reload: \(option) needs a restart, keeping the old value")
        }
        for note in outcome.notes { logger.info("reload: \(note)") }
        logger.notice(
            outcome.changes.isEmpty
                ? "reloaded \(source.file), nothing changed"
                : "reloaded \(source.file), answers removed: \(outcome.removedAnswers)"
        )
    }
}

// MARK: - Putting in force

extension Daemon {
    /// Puts `new` in the place of what is in force; nothing here waits, and nothing fails.
    ///
    /// - Returns: what removes the answers that are not right any more; nil if all are.
    private func putInForce(
        _ new: Assembly,
        _ newHosts: NewHosts?,
        _ renamed: [String: String]
    ) -> CacheSweep? {
        let old = assembly
        assembly = new
        let kept = new.settings.vendors.filter { vendor in
            old.settings.vendors.contains { vendor.givesSameAnswers(as: $0) }
        }
        let sweep = new.resolver.takeOver(
            from: old.resolver,
            hosts: newHosts?.outlet.table ?? old.resolver.hosts,
            sameVendors: Set(kept.map(\.name))
        )
        new.comeIntoForce()
        new.reportUpstreams(to: logger, after: old)
        desk.use(new.resolver)
        network.assembly = new
        log?.use(new.settings.log)
        queryLog.use(new.settings.log.queries)
        exchangeVendors(old, new, renamed)
        prepareHTTP()
        if let newHosts {
            hosts.stop()
            hosts = newHosts.files
            newHosts.outlet.use = { [weak self] in self?.assembly.resolver.use($0) }
        }
        exchangeCacheFile(old, new)
        dismiss(reception.go(by: new.settings))
        accelerator.go(by: new.settings, at: reception.listeners.map(\.address))
        return sweep
    }

    /// Removes the answers that are not right any more, beside everything else, and tells how many.
    ///
    /// The reload is over when that is: whoever asked for it gets no such answer afterwards.  So is
    /// the cache written to its file only then, if the daemon stops meanwhile.
    private func finish(_ sweep: CacheSweep) async -> Int {
        let clocks = assembly.clocks
        let task = ServiceLoop.task { await sweep.finish(clocks) }
        sweeping = task
        defer { sweeping = nil }
        return await task.value
    }

    /// Starts vendors' clients that are new, and stops those that are not wanted any more.
    private func exchangeVendors(_ old: Assembly, _ new: Assembly, _ renamed: [String: String]) {
        let fresh = new.vendors.filter { vendor in
            !old.vendors.contains { $0.client === vendor.client }
        }
        for vendor in fresh {
            guard
                let before = old.vendors.first(where: { $0.settings.name == vendor.settings.name })
            else { continue }
            vendor.client.takeOver(
                from: before.client,
                hasSameAccount: vendor.settings.givesSameAnswers(as: before.settings)
            )
        }
        for vendor in old.vendors
        where !new.vendors.contains(where: { $0.client === vendor.client }) {
            vendor.client.stop()
            if !new.vendors.contains(where: { $0.settings.name == vendor.settings.name }) {
                let statistics = vendor.client.statistics
                mergedOfFormerVendors += statistics.merged + statistics.paired
            }
        }
        if !renamed.isEmpty {
            for vendor in new.vendors { vendor.client.renameRoutes { renamed[$0] ?? $0 } }
            `operator`?.renameRoutes { renamed[$0] ?? $0 }
        }
        startVendors(fresh)
    }

    /// Keeps the cache in another file, or in none, if the settings say so.
    private func exchangeCacheFile(_ old: Assembly, _ new: Assembly) {
        guard old.settings.cache.snapshot != new.settings.cache.snapshot else { return }
        let file = Self.cacheFile(new, logger: logger)
        guard file?.numbers.path != cacheFile?.numbers.path else { return }
        cacheFile?.abandon()
        cacheFile = file
        file?.startAnew()
    }

    /// Lets the TCP clients of addresses that were closed go, as at the end of the daemon.
    private func dismiss(_ servers: [TCPServer]) {
        guard !servers.isEmpty else { return }
        let deadline = assembly.clocks.now() + Self.drainTime
        ServiceLoop.task { [clocks = assembly.clocks] in
            // Nobody cancels this task.
            try? await clocks.sleep(deadline)
            for server in servers { server.finish() }
        }
    }
}

/// Hosts files that are read already, and not in force yet.
private typealias NewHosts = (files: HostsFiles, outlet: HostsOutlet)

extension HostsFiles {
    /// Reads what `settings` name.
    fileprivate static func reading(_ settings: HostsSettings, _ logger: Logger) async -> NewHosts {
        let outlet = HostsOutlet()
        let files = HostsFiles(settings, logger: logger) { outlet.take($0) }
        await files.start()
        return (files, outlet)
    }
}

// MARK: - Text and numbers

extension MetricsReport.Life {
    /// Counts a reload.
    fileprivate mutating func note(_ outcome: ReloadOutcome) {
        reloadProblem =
            outcome.isApplied ? nil : outcome.problems.first.map { "\($0)" } ?? "see the log"
        if outcome.isApplied { appliedReloads += 1 } else { failedReloads += 1 }
    }
}

extension SettingsChange: CustomStringConvertible {
    /// The change as a line of the log.
    package var description: String {
        switch kind {
        case .secret: "\(path): another secret"
        case .added: "\(path): added \(new ?? "")"
        case .removed: "\(path): removed \(old ?? "")"
        case .changed: "\(path): \(old ?? "") -> \(new ?? "")"
        }
    }
}
