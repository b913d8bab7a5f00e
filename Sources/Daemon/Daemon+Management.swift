// SPDX-License-Identifier: Apache-2.0
package import Administration
internal import Configuration
internal import DaemonLog
internal import Net

extension Daemon: ManagedDaemon {
    package var settingsFile: String { source.file }
    package var isLoadingSnapshot: Bool { cacheFile?.isLoading ?? false }
    package func snapshotLoaded() async { await cacheFile?.loaded() }

    package var state: DaemonState {
        var state = DaemonState(
            settings: components.settings,
            clocks: components.clocks,
            cache: components.cache,
            resolver: components.resolver,
            vendors: components.vendors,
            upstreams: components.upstreams,
            upstreamHealth: components.upstreamHealth,
            routeNames: components.routeNames,
            nat64: components.nat64,
            learned: components.network,
            hasPortal: network.portal.isKnown && components.settings.portal == .automatic,
            listeners: listenerManager.listeners,
            workers: listenerManager.workers,
            handler: handler,
            misses: misses,
            accelerator: accelerator,
            closedWorkers: listenerManager.closed,
            mergedOfFormerVendors: mergedOfFormerVendors,
            network: network.numbers,
            cacheFile: cacheFile?.numbers,
            reloadProblem: life.reloadProblem,
            droppedLogLines: log?.droppedLines
        )
        state.fileProblems =
            certificateFaults.values.sorted().map { "certificates: \($0)" }
            + hosts.problems.map { "hosts: \($0)" } + scrapePoints.problems
            + listenerManager.problems
        return state
    }
}
