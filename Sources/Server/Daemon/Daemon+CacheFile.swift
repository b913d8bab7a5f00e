// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net
internal import Resolver

// MARK: - The cache's file

extension Daemon {
    /// Returns the keeper of the cache's file, as the settings name it; nil if they name none.
    static func cacheFile(_ assembly: Assembly, logger: Logger) -> CacheFile? {
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

    /// Begins to load the cache of an earlier life, and to keep it for a later one.
    ///
    /// Clients that ask meanwhile wait for what is loaded, if nothing better answers them.
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
