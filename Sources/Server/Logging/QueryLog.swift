// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import Net
internal import Resolver

/// Logs every query, if the settings want that.
///
/// It reads what threads note of their queries anyway, so nothing is slower for it; what comes faster
/// than it reads is lost to it, which it says.
@ServiceLoop
final class QueryLog {
    /// What there is to read, now.
    typealias Source = @ServiceLoop () -> (recent: [RecentQueries], origins: Origins)

    /// How often it says that it missed something.
    private static let complaintInterval: Duration = .seconds(60)

    private let logger: Logger
    private let clocks: Clocks
    private let source: Source
    private var reader: RecentReader?
    private var task: Task<Void, Never>?

    /// Queries that were not logged: since the start, and since that was said last.
    private(set) var missed: UInt64 = 0
    private var unsaid: UInt64 = 0
    private var saidAt: ContinuousClock.Instant?

    /// A log that has not begun.
    init(_ logger: Logger, _ clocks: Clocks, _ source: @escaping Source) {
        self.logger = logger
        self.clocks = clocks
        self.source = source
    }

    /// Begins with what comes from now on, or ends with what has come.
    func use(_ isWanted: Bool) {
        if isWanted, task == nil {
            reader = RecentReader(startingAt: source().recent)
            task = ServiceLoop.task { [self] in
                // Ends by being cancelled only.
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

    /// Logs what has come.
    private func look() {
        let (recent, origins) = source()
        guard let news = reader?.news(of: recent) else { return }
        let reply = RecentList(news, clocks, origins)
            .events(passing: QueryFilter(), most: RecentReader.mostEvents)
        for query in reply.queries { Self.log(query, to: logger) }
        missed += reply.missed
        unsaid += reply.missed
        if saidAt.map({ clocks.now() >= $0 + Self.complaintInterval }) ?? true { complain() }
    }

    /// Says how many queries were not logged.
    private func complain() {
        guard unsaid > 0 else { return }
        logger.warning("log: \(unsaid) queries came too fast to be logged, counting them only")
        unsaid = 0
        saidAt = clocks.now()
    }

    /// Writes the line of a query.
    static func log(_ query: QueryEvent, to logger: Logger) {
        var fields: Logger.Metadata = [
            "name": "\(query.name)", "type": "\(query.type)", "rcode": "\(query.rcode)",
            "source": "\(query.source)", "transport": "\(query.transport)",
            "client": "\(query.client)", "took-us": "\(query.tookUs)",
        ]
        if let server = query.server { fields["server"] = "\(server)" }
        if let fallback = query.fallback { fields["fallback"] = "\(fallback)" }
        for flag in query.flags { fields[flag] = "yes" }
        logger.log(level: .info, "query", metadata: fields, source: LogDesk.queries)
    }
}
