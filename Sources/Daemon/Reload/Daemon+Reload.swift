// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import Configuration
package import Control
internal import DNSCache
internal import DaemonLog
internal import Frontend
internal import HTTPDNS
internal import Logging
internal import Net
internal import Resolver

// MARK: - Reloading

extension Daemon {
    /// Reloads the settings file; applies all settings or none.
    ///
    /// - Returns: nil if the daemon is stopping, and has cancelled the reload.
    package func reload() async -> ReloadReply? {
        await reloads.turn { [self] in
            ServiceManager.reloading()
            let attempted = await settingsQueue.turn { [self] in await attempt() }
            guard var outcome = attempted, !isStopping || outcome.applied else {
                logger.notice("reload: cancelled because the daemon is stopping")
                return nil
            }
            log(outcome)
            life.note(outcome)
            outcome.warnings += hosts.problems.map { Self.complaint("hosts: \($0)", source.file) }
            ServiceManager.ready(
                status: outcome.applied
                    ? readiness : "\(readiness); the last reload failed, see the log"
            )
            return outcome
        }
    }

    /// Checks the settings file, or another text, like a reload.
    ///
    /// A check and a reload do not overlap, because each needs memory for a second set of routes.
    package func check(_ other: (text: String, file: String)?) async -> ReloadReply {
        await settingsQueue.turn { [self] in
            let (outcome, discarded) = await checked(other)
            components.forgetOtherUpstreams()
            await release(discarded)
            return outcome
        }
    }

    private func checked(
        _ other: (text: String, file: String)?
    ) async -> (outcome: ReloadReply, discarded: OldRoutes?) {
        let source = source
        let read = await read(other?.file ?? source.file) { () throws(SettingsErrors) in
            if let other { try source.check(other.text, other.file) } else { try source.load() }
        }
        switch read {
        case .failure(let errors):
            return (
                ReloadReply(applied: false, problems: errors.problems, warnings: errors.warnings),
                nil
            )
        case .success(let wanted):
            var outcome = ReloadReply(applied: false)
            var discarded: OldRoutes?
            let hosts = await hosts.check(changingTo: wanted.hosts)
            do throws(StartError) {
                let prepared = try await PreparedReload.make(wanted, after: components.settings)
                outcome = prepared.outcome
                let new = try await Components.make(
                    prepared.settled,
                    in: dependencies,
                    succeeding: components
                )
                discarded = OldRoutes(new)
                let sweep = new.resolver.trialSweep(
                    after: components.resolver,
                    hosts: hosts.table,
                    sameVendors: new.sameVendors(as: components)
                )
                if let sweep { outcome.removedAnswers = await sweep.finish(components.clocks) }
            } catch {
                outcome.problems = [problem(error, other?.file ?? source.file)]
            }
            // If this service has no right to bind an address, a restart would fail.
            var (errors, warnings) = listenerManager.faults(binding: wanted)
            errors += scrapePoints.faults(binding: wanted.metrics).map(StartError.metrics)
            if let fault = hosts.fault { errors.append(.hosts(fault)) }
            warnings += hosts.problems.map { "hosts: \($0)" }
            if let fault = accelerator.fault(startingWith: wanted) { errors.append(fault) }
            if let warning = accelerator.warning(startingWith: wanted) { warnings.append(warning) }
            if let warning = components.warning(applying: wanted) { warnings.append(warning) }
            outcome.problems += errors.map { problem($0, other?.file ?? source.file) }
            outcome.warnings += warnings.map { Self.complaint($0, other?.file ?? source.file) }
            return (outcome, discarded)
        }
    }

    private func attempt() async -> ReloadReply? {
        let source = source
        let wanted: Settings
        switch await read(source.file, { () throws(SettingsErrors) in try source.load() }) {
        case .success(let settings): wanted = settings
        case .failure(let errors):
            return ReloadReply(applied: false, problems: errors.problems, warnings: errors.warnings)
        }
        await cacheFile?.loaded()
        var outcome = ReloadReply(applied: false)
        do throws(StartError) {
            let prepared = try await PreparedReload.make(wanted, after: components.settings)
            outcome = prepared.outcome
            if let fault = accelerator.fault(startingWith: wanted) { throw fault }
            let warnings = [
                accelerator.warning(startingWith: wanted), components.warning(applying: wanted),
            ]
            outcome.warnings += warnings.compactMap(\.self).map {
                Self.complaint($0, source.file)
            }
            let settings = prepared.settled.settings
            let new = try await Components.make(
                prepared.settled,
                in: dependencies,
                succeeding: components
            )
            var unused = OldRoutes(new)
            defer { settingsQueue.add { [self, unused] in await release(unused) } }
            let renamed = try await renamedRoutes(new)
            let bound = try listenerManager.bind(settings)
            outcome.warnings += bound.warnings.map { Self.complaint($0, source.file) }
            let scraped = try bindMetrics(settings.metrics)
            var hosts: HostsFiles?
            if settings.hosts != components.settings.hosts {
                let files = HostsFiles(settings.hosts, after: self.hosts, logger: logger)
                await files.start()
                hosts = files
            } else {
                await self.hosts.read()
            }
            do throws(StartError) {
                // The table does not record the file of each name, so the daemon cannot keep only
                // the names of an unreadable file.
                if let fault = hosts?.failure ?? hosts?.staleFile { throw .hosts(fault) }
                guard !isStopping, let misses else { throw .stopping }
                let handlers = ListenerManager.Handlers(
                    components: new,
                    handler: handler,
                    misses: misses,
                    own: own
                )
                try listenerManager.serve(bound, by: handlers)
            } catch {
                hosts?.stop()
                throw error
            }
            releaseLater(OldRoutes(components, renamed))
            unused = nil
            let sweep = putInForce(new, hosts, renamed)
            scrapePoints.serve(scraped, as: settings.metrics)
            followInterfaces()
            outcome.applied = true
            if let sweep { outcome.removedAnswers = await finish(sweep) }
        } catch .stopping {
            return nil
        } catch {
            components.forgetOtherUpstreams()
            outcome.problems = [problem(error, source.file)]
        }
        return outcome
    }

    private func read(
        _ file: String,
        _ load: @escaping @Sendable () throws(SettingsErrors) -> Settings
    ) async -> Result<Settings, SettingsErrors> {
        let passed = listenerManager.listeners.filter(\.isPassed).map(\.address)
        do throws(SocketError) {
            return try await WorkerThread.run(named: "settings") {
                defer { OwnProcess.returnFreeMemory() }
                return Result { () throws(SettingsErrors) in
                    var settings = try load()
                    if let loop = settings.loop(through: passed) {
                        throw SettingsErrors(
                            problems: [Self.complaint(loop, file)],
                            warnings: settings.warnings
                        )
                    }
                    let warnings = [
                        ResolvConf.warning(listening: settings.listen + passed),
                        settings.refusal(at: passed),
                    ]
                    settings.warnings += warnings.compactMap(\.self).map {
                        Self.complaint($0, file)
                    }
                    return settings
                }
            }
        } catch {
            return .failure(SettingsErrors(problems: [problem(.system(error), source.file)]))
        }
    }

    /// An address that already failed before the reload causes no error.
    private func bindMetrics(_ settings: MetricsSettings) throws(StartError) -> ScrapePoints.Bound {
        let bound = scrapePoints.bind(settings)
        if let error = scrapePoints.firstNewError(in: bound) { throw .metrics(error) }
        return bound
    }

    private static let loggedChanges = 100

    private func problem(_ error: StartError, _ file: String) -> SettingsComplaint {
        Self.complaint("\(error)", file)
    }

    private nonisolated static func complaint(_ text: String, _ file: String) -> SettingsComplaint {
        SettingsComplaint(file: file, line: 0, column: 0, message: text)
    }

    private func log(_ outcome: ReloadReply) {
        for warning in outcome.warnings { logger.warning("\(warning)") }
        guard outcome.applied else {
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
        for note in outcome.notes ?? [] { logger.info("reload: \(note)") }
        logger.notice(
            outcome.changes.isEmpty
                ? "reloaded \(source.file), nothing changed"
                : "reloaded \(source.file), cache entries removed: \(outcome.removedAnswers)"
        )
    }
}

// MARK: - Putting in force

extension Daemon {
    /// Does not wait and cannot fail; returns the sweep of entries that contradict the new
    /// settings.
    private func putInForce(
        _ new: Components,
        _ newHosts: HostsFiles?,
        _ renamed: [String: String]
    ) -> CacheSweep? {
        let old = components
        components = new
        let sweep = new.resolver.takeOver(
            from: old.resolver,
            hosts: newHosts?.table ?? old.resolver.hosts,
            sameVendors: new.sameVendors(as: old)
        )
        forgetCertificateFaults(of: old.settings)
        new.comeIntoForce(dependencies, logger)
        new.reportUpstreams(to: logger, after: old) { [weak self] in
            self?.network.portal.failed($0)
        }
        handler.use(new.resolver)
        network.use(new)
        log?.use(new.settings.log)
        queryLog.use(new.settings.log.queries)
        exchangeVendors(old, new, renamed)
        startFleet(after: old)
        new.nat64.use(NAT64.Mode(new.settings.nat64))
        prepareHTTP()
        if let newHosts {
            hosts.stop()
            hosts = newHosts
            hosts.onChange = { [weak self] in self?.components.resolver.use($0) }
        }
        exchangeCacheFile(old, new)
        dismiss(listenerManager.go(by: new.settings))
        accelerator.go(by: new.settings, at: listenerManager.listeners.map(\.address))
        return sweep
    }

    private func finish(_ sweep: CacheSweep) async -> Int {
        let clocks = components.clocks
        let task = ServiceLoop.task { await sweep.finish(clocks) }
        sweeping = task
        defer { sweeping = nil }
        return await task.value
    }

    private func exchangeVendors(_ old: Components, _ new: Components, _ renamed: [String: String])
    {
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

    private func exchangeCacheFile(_ old: Components, _ new: Components) {
        guard old.settings.cache.snapshot != new.settings.cache.snapshot else { return }
        let file = Self.cacheFile(new, logger: logger)
        guard file?.numbers.path != cacheFile?.numbers.path else { return }
        cacheFile?.abandon()
        cacheFile = file
        connectCacheFile()
        file?.startAnew()
    }

    private func dismiss(_ servers: [TCPServer]) {
        guard !servers.isEmpty else { return }
        let deadline = components.clocks.now() + Self.drainTime
        ServiceLoop.task { [clocks = components.clocks] in
            try? await clocks.sleep(deadline)
            for server in servers { server.finish() }
        }
    }
}

// MARK: - Text and numbers

extension MetricsReport.Life {
    fileprivate mutating func note(_ outcome: ReloadReply) {
        reloadProblem =
            outcome.applied ? nil : outcome.problems.first.map { "\($0)" } ?? "see the log"
        if outcome.applied { appliedReloads += 1 } else { failedReloads += 1 }
    }
}
