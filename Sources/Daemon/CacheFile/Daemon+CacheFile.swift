// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Logging
internal import Net
internal import Resolver

// MARK: - Cache snapshot

extension Daemon {
    static func cacheFile(_ components: Components, logger: Logger) -> CacheFile? {
        let setting = components.settings.cache.snapshot
        return setting.path(in: SettingsEnvironment.stateDirectory).map { path in
            CacheFile(
                path,
                isOwn: setting == .automatic,
                of: components.cache,
                components.resolver.origins,
                clocks: components.clocks,
                logger: logger
            )
        }
    }

    func connectCacheFile() {
        cacheFile?.validity = { [weak self] in
            // Until the sweep of a reload ends, the cache can contain answers that contradict the
            // new settings, so the digests of these settings would be wrong.
            guard let self, sweeping == nil else { return nil }
            return components.snapshotValidity
        }
    }

    func startCacheFile() {
        guard let cacheFile else { return }
        connectCacheFile()
        cacheFile.onLoad = { [self] hottest in
            components.resolver.prefetcher.refresh(hottest: hottest)
        }
        let snapshotWaiters = components.resolver.snapshotWaiters
        snapshotWaiters.begin()
        let changes = components.resolver.changesDuringLoad()
        cacheFile.onLoadEnd = { [weak self] in
            snapshotWaiters.end()
            guard let self else { return }
            if let sweep = changes() { network.sweep(sweep) }
            if components.nat64.prefix != nil { network.removeTranslated() }
        }
        cacheFile.start()
    }
}

extension Components {
    fileprivate var snapshotValidity: SnapshotValidity {
        let vendors = settings.vendors.map { ($0.name, $0.answerValues) }
        return resolver.snapshotValidity(vendors: Dictionary(vendors) { first, _ in first })
    }
}
