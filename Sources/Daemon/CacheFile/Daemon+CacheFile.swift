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
                of: components.cache,
                components.resolver.origins,
                clocks: components.clocks,
                logger: logger
            )
        }
    }

    /// Starts to restore the cache, and to write its snapshot.
    ///
    /// Meanwhile, a query waits for its restored entry if no better answer arrives.
    func startCacheFile() {
        guard let cacheFile else { return }
        cacheFile.onLoad = { [self] hottest in
            components.resolver.prefetcher.refresh(hottest: hottest)
        }
        let snapshotWaiters = components.resolver.snapshotWaiters
        snapshotWaiters.begin()
        cacheFile.onLoadEnd = { snapshotWaiters.end() }
        cacheFile.start(leavingOut: components.resolver.overridden)
    }
}
