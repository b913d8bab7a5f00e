// SPDX-License-Identifier: Apache-2.0
package import Control
internal import DaemonLog
package import Frontend
package import Logging
package import Net
package import Resolver

/// Log of every query, for `log.queries`.
///
/// Logging does not delay answers, because this class reads the circular buffers of recent queries.
/// A record that is overwritten before this class reads it is missing from the log.
@ServiceLoop
package final class QueryLog {
    package typealias Source =
        @ServiceLoop () -> (recent: [RecentQueries], origins: AnswerSourceRegistry)

    private static let complaintInterval: Duration = .seconds(60)
    private let logger: Logger
    private let clocks: Clocks
    private let source: Source
    private var reader: RecentReader?
    private var task: Task<Void, Never>?

    /// Queries that are missing from the log since the start of the daemon.
    package private(set) var missed: UInt64 = 0

    /// Queries that are missing from the log since the latest warning about them.
    private var unlogged: UInt64 = 0
    private var saidAt: Instant?

    package init(_ logger: Logger, _ clocks: Clocks, _ source: @escaping Source) {
        self.logger = logger
        self.clocks = clocks
        self.source = source
    }

    package func use(_ isWanted: Bool) {
        if isWanted, task == nil {
            reader = RecentReader(startingAt: source().recent)
            task = ServiceLoop.task { [self] in
                while (try? await clocks.sleep(clocks.now() + RecentReader.interval)) != nil {
                    look()
                }
            }
        } else if !isWanted, task != nil {
            task?.cancel()
            task = nil
            look()
            reader = nil
            complain()
        }
    }

    private func look() {
        let (recent, origins) = source()
        guard let news = reader?.news(of: recent) else { return }
        let reply = RecentList(news, clocks, origins)
            .events(passing: QueryFilter(), most: RecentReader.mostEvents)
        for query in reply.queries { Self.log(query, to: logger) }
        missed += reply.missed
        unlogged += reply.missed
        if saidAt.map({ clocks.now() >= $0 + Self.complaintInterval }) ?? true { complain() }
    }

    private func complain() {
        guard unlogged > 0 else { return }
        logger.warning("log: \(unlogged) queries were not logged, because they arrived too fast")
        unlogged = 0
        saidAt = clocks.now()
    }

    package static func log(_ query: QueryEvent, to logger: Logger) {
        var fields: Logger.Metadata = [
            "name": "\(query.name)", "type": "\(query.type)", "rcode": "\(query.rcode)",
            "source": "\(query.source)", "transport": "\(query.transport)",
            "client": "\(query.client)", "took-us": "\(query.tookUs)",
        ]
        if let server = query.server { fields["server"] = "\(server)" }
        if let fallback = query.fallback { fields["fallback"] = "\(fallback)" }
        for flag in query.flags { fields[flag] = "yes" }
        logger.log(level: .info, "query", metadata: fields, source: LogSink.queries)
    }
}
