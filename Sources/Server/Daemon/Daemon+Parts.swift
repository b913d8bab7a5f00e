// SPDX-License-Identifier: Apache-2.0
internal import Net

extension Daemon {
    /// Components and counters that the control verbs show.
    @ServiceLoop
    struct Parts {
        let assembly: Components
        let desk: QueryHandler
        let reception: ListenerManager
        let network: NetworkReaction.Numbers
        let accelerator: Accelerator
        let cacheFile: CacheFile.Numbers?
        let misses: MissQueue?
        let mergedOfFormerVendors: UInt64

        /// First problem of the last reload; nil if the reload succeeded.
        let reloadProblem: String?

        var settings: Settings { assembly.settings }
        var listeners: [Listeners] { reception.listeners }
        var workers: [UDPWorker] { reception.workers }
        var servers: [TCPServer] { reception.servers }

        var recent: [RecentQueries] { workers.map(\.recent) + [desk.recent, accelerator.recent] }
    }
}
