// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net
internal import Resolver

// MARK: - The cache's file

extension Daemon {
    static func cacheFile(_ assembly: Components, logger: Logger) -> CacheFile? {
        let setting = assembly.settings.cache.snapshot
        return setting.path(in: SettingsEnvironment.stateDirectory).map { path in
            CacheFile(
                path,
                of: assembly.cache,
                assembly.resolver.origins,
                clocks: assembly.clocks,
                logger: logger
            )
        }
    }

    /// Starts to restore the cache from its snapshot, and to write the snapshot.
    ///
    /// Meanwhile, a query waits for its restored entry if no better answer arrives.
    func startCacheFile() {
        guard let cacheFile else { return }
        cacheFile.onLoad = { [self] hottest in
            assembly.resolver.refreshing.refresh(hottest: hottest)
        }
        let restoring = assembly.resolver.restoring
        restoring.begin()
        cacheFile.onLoadEnd = { restoring.end() }
        cacheFile.start(leavingOut: assembly.resolver.overridden)
    }
}
