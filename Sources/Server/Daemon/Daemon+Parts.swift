// SPDX-License-Identifier: Apache-2.0
internal import Net

extension Daemon {
    /// What the control verbs look at.
    @ServiceLoop
    struct Parts {
        let assembly: Assembly
        let desk: QueryDesk
        let reception: Reception
        let network: NetworkReaction.Numbers
        let accelerator: Accelerator
        let cacheFile: CacheFile.Numbers?
        let misses: MissDesk?
        let mergedOfFormerVendors: UInt64

        /// The first problem of the last reload, if that kept the old settings.
        let reloadProblem: String?

        var settings: Settings { assembly.settings }
        var listeners: [Listeners] { reception.listeners }
        var workers: [UDPWorker] { reception.workers }
        var servers: [TCPServer] { reception.servers }

        /// What each thread answered last.
        var recent: [RecentQueries] { workers.map(\.recent) + [desk.recent, accelerator.recent] }
    }
}
