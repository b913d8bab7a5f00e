// SPDX-License-Identifier: Apache-2.0
package import Configuration
internal import Locks
package import Logging
internal import Net
internal import Synchronization

/// Backend of all loggers: filters and limits entries, and stores the latest entries in memory.
package final class LogSink: Sendable {
    /// Log source of entries about single queries; these entries are not stored in memory.
    package static let queries = "queries"

    private let threshold: LogThreshold
    private let format: Lock<LogFormat>
    private let limiter = Lock(LogLimiter())
    private let recorder = FlightRecorder()
    private let destination: LogDestination

    /// Maximum queued entries, in addition to up to 4,096 entries that are being written.
    static let entryLimit = 4_096

    private typealias Queue = BackgroundQueue<(entry: LogEntry, format: LogFormat)>

    /// Nil until ``startWriter()``.
    private let queue = Lock<Queue?>(nil)
    private let dropped = Atomic<UInt64>(0)
    private let now: @Sendable () -> Instant

    /// Level from the command line.
    private let ownLevel: Logger.Level?

    private let chosen: Lock<(byOperator: Logger.Level?, settings: Logger.Level)>

    /// Writes to the journal or standard error; `level` overrides the settings.
    package convenience init(_ settings: LogSettings, level: Logger.Level? = nil) {
        self.init(settings, level: level, to: .standard, now: { Clock.now })
    }

    init(
        _ settings: LogSettings,
        level: Logger.Level? = nil,
        to destination: LogDestination,
        now: @escaping @Sendable () -> Instant
    ) {
        ownLevel = level
        threshold = LogThreshold(level ?? settings.level)
        chosen = Lock((nil, level ?? settings.level))
        format = Lock(settings.format)
        self.destination = destination
        self.now = now
    }

    package func use(_ settings: LogSettings) {
        threshold.level = chosen.withLock { chosen in
            chosen.settings = ownLevel ?? settings.level
            return chosen.byOperator ?? chosen.settings
        }
        format.withLock { $0 = settings.format }
    }

    /// Sets the current level; nil restores the level of the settings.
    package func setLevel(_ level: Logger.Level?) {
        threshold.level = chosen.withLock { chosen in
            chosen.byOperator = level
            return level ?? chosen.settings
        }
    }

    package var levels: (now: Logger.Level, settings: Logger.Level) {
        chosen.withLock { ($0.byOperator ?? $0.settings, $0.settings) }
    }

    package var logger: Logger { Logger(label: "httpdnsd") { _ in SinkHandler(self) } }

    /// Lowest level of accepted entries.
    ///
    /// Entries of level debug are stored in memory, even if they are not logged.
    fileprivate var level: Logger.Level { min(threshold.level, .debug) }

    /// Lines lost because the reader was slow, or because a write failed.
    package var droppedLines: UInt64 { dropped.load(ordering: .relaxed) }

    // MARK: - Taking

    fileprivate func take(_ entry: LogEntry, _ event: LogEvent) {
        var isLogged = entry.level >= threshold.level
        if isLogged, entry.level >= .notice, !entry.fields.isEmpty {
            isLogged = admits(entry, event)
        }
        if event.source != Self.queries { recorder.note(entry.text, isShown: isLogged) }
        if isLogged { put(entry) }
        if entry.level == .critical { dump(recorder.lines.filter { !$0.isShown }) }
    }

    /// Returns true if the entry must be logged; otherwise ensures that a summary counts it.
    private func admits(_ entry: LogEntry, _ event: LogEvent) -> Bool {
        let fields = entry.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        let kind = LogLimiter.Kind(file: event.file, line: event.line, fields: fields)
        let now = now()
        logSummaries(now)
        switch limiter.withLock({ $0.decide(entry, kind, now: now) }) {
        case .log: return true
        case .count(until: nil): return false
        case .count(until: let end?):
            ServiceLoop.task { [self] in
                try? await Clocks.system.sleep(end)
                logSummaries(self.now())
            }
            return false
        }
    }

    func logSummaries(_ now: Instant) {
        for entry in limiter.withLock({ $0.counts(now: now) }) { put(entry) }
    }

    private func put(_ entry: LogEntry) {
        let format = format.withLock { $0 }
        if let queue = queue.withLock({ $0 }) {
            let octets = entry.fields.reduce(entry.message.utf8.count) {
                $0 + $1.name.utf8.count + $1.value.utf8.count
            }
            if !queue.add((entry, format), octets: octets) { dropped.add(1, ordering: .relaxed) }
        } else {
            _ = counted.put(entry, format)
        }
    }

    private var counted: LogDestination {
        LogDestination { [self] entry, format in
            let isWritten = destination.put(entry, format)
            if !isWritten { dropped.add(1, ordering: .relaxed) }
            return isWritten
        }
    }

    // MARK: - Writing

    /// Starts a writer thread, because a write can block without limit, as on a failed disk.
    ///
    /// Without the thread, each log call writes its own entry, and can block.
    package func startWriter() {
        let destination = counted
        let made = try? Queue(named: "log", itemLimit: Self.entryLimit, octetLimit: 1 << 20) {
            items,
            dropped in
            for item in items { _ = destination.put(item.entry, item.format) }
            guard dropped > 0 else { return }
            let text = "log: \(dropped) lines were dropped, because the log reader was too slow"
            _ = destination.put(
                LogEntry(level: .warning, message: text),
                items.last?.format ?? .text
            )
        }
        queue.withLock { $0 = made }
    }

    /// Waits until queued entries are written, for at most 500 ms.
    package func flush() { queue.withLock { $0 }?.flush(within: .milliseconds(500)) }

    // MARK: - Recording

    package func dump() { dump(recorder.lines) }

    private func dump(_ lines: [FlightRecorder.Line]) {
        guard !lines.isEmpty else { return }
        put(LogEntry(level: .notice, message: "log: \(lines.count) lines from memory follow"))
        for line in lines { put(LogEntry(level: .info, message: "| \(line.text)")) }
    }

    package func writeAtCrash() { recorder.writeAtCrash() }
}

private struct SinkHandler: LogHandler {
    var metadata: Logger.Metadata = [:]

    var logLevel: Logger.Level {
        get { ownLevel ?? sink.level }
        set { ownLevel = newValue }
    }

    private let sink: LogSink
    private var ownLevel: Logger.Level?
    init(_ sink: LogSink) { self.sink = sink }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = all.sorted { $0.key < $1.key }.map {
            LogEntry.Field(name: $0.key, value: "\($0.value)")
        }
        sink.take(LogEntry(level: event.level, message: "\(event.message)", fields: fields), event)
    }
}
