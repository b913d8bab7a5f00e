// SPDX-License-Identifier: Apache-2.0
internal import Locks
package import Logging
internal import Net

/// Where all that is logged comes together: decides what is told, and keeps the rest for a while.
package final class LogDesk: Sendable {
    /// The source of lines about single queries, which the recorder does not keep: there are many, and
    /// they have rings of their own.
    static let queries = "queries"

    private let threshold: LogThreshold
    private let format: Lock<LogFormat>
    private let limiter = Lock(LogLimiter())
    private let recorder = FlightRecorder()
    private let outlet: LogOutlet

    /// The queue of entries that are written; nil until ``startWriter()``.
    private let writer = Lock<LogWriter?>(nil)
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The level of the command line; nil if the settings say it.
    private let ownLevel: Logger.Level?

    /// The level that an operator set while the daemon runs, and that of the settings.
    private let chosen: Lock<(byOperator: Logger.Level?, settings: Logger.Level)>

    /// A desk that writes to the journal or to standard error.
    ///
    /// - Parameter level: the least important level that is logged, in place of the settings'.
    package convenience init(_ settings: LogSettings, level: Logger.Level? = nil) {
        self.init(settings, level: level, to: .standard, now: { Clock.now })
    }

    init(
        _ settings: LogSettings,
        level: Logger.Level? = nil,
        to outlet: LogOutlet,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        ownLevel = level
        threshold = LogThreshold(level ?? settings.level)
        chosen = Lock((nil, level ?? settings.level))
        format = Lock(settings.format)
        self.outlet = outlet
        self.now = now
    }

    /// Logs as the settings say from now on.
    package func use(_ settings: LogSettings) {
        threshold.level = chosen.withLock { chosen in
            chosen.settings = ownLevel ?? settings.level
            return chosen.byOperator ?? chosen.settings
        }
        format.withLock { $0 = settings.format }
    }

    /// Logs messages of at least `level` from now on, also after reloads; nil gives that back to the
    /// settings.
    func setLevel(_ level: Logger.Level?) {
        threshold.level = chosen.withLock { chosen in
            chosen.byOperator = level
            return level ?? chosen.settings
        }
    }

    /// The least important level that is logged, and the one of the settings or the command line.
    var levels: (now: Logger.Level, settings: Logger.Level) {
        chosen.withLock { ($0.byOperator ?? $0.settings, $0.settings) }
    }

    /// What writes to this desk.
    package var logger: Logger { Logger(label: "httpdnsd") { _ in DaemonLog(self) } }

    /// The least important level that anything is done with: what is not told is kept.
    fileprivate var level: Logger.Level { min(threshold.level, .debug) }

    // MARK: - Telling

    /// Tells an entry if it is to be told, and keeps it.
    fileprivate func take(_ entry: LogEntry, _ event: LogEvent) {
        var isTold = entry.level >= threshold.level
        if isTold, entry.level >= .notice, !entry.fields.isEmpty { isTold = admits(entry, event) }
        if event.source != Self.queries { recorder.note(entry.text, isShown: isTold) }
        if isTold { put(entry) }
        if entry.level == .critical { dump(recorder.lines.filter { !$0.isShown }) }
    }

    /// Whether an entry is not one of many; if it is, it is counted, and the count told in time.
    private func admits(_ entry: LogEntry, _ event: LogEvent) -> Bool {
        let fields = entry.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        let kind = LogLimiter.Kind(file: event.file, line: event.line, fields: fields)
        let now = now()
        tellCounts(now)
        switch limiter.withLock({ $0.judge(entry, kind, now: now) }) {
        case .tell: return true
        case .count(until: nil): return false
        case .count(until: let end?):
            ServiceLoop.task { [self] in
                // Nobody cancels this task.
                try? await ServiceLoop.sleep(until: end)
                tellCounts(self.now())
            }
            return false
        }
    }

    /// Tells how many there were of what was told once.
    func tellCounts(_ now: ContinuousClock.Instant) {
        for entry in limiter.withLock({ $0.counts(now: now) }) { put(entry) }
    }

    private func put(_ entry: LogEntry) {
        let format = format.withLock { $0 }
        if let writer = writer.withLock({ $0 }) {
            writer.add(entry, format)
        } else {
            outlet.put(entry, format)
        }
    }

    // MARK: - Writing

    /// Has a thread of its own write from now on, so that no other thread waits for the log's reader.
    ///
    /// Without a thread, because the system has none left, entries are written as before.
    package func startWriter() {
        let made = try? LogWriter(to: outlet)
        writer.withLock { $0 = made }
    }

    /// Waits until everything is written, but not for long: for the end of the process.
    package func flush() { writer.withLock { $0 }?.flush() }

    // MARK: - Keeping

    /// Logs all lines that are kept.
    func dump() { dump(recorder.lines) }

    private func dump(_ lines: [FlightRecorder.Line]) {
        guard !lines.isEmpty else { return }
        put(LogEntry(level: .notice, message: "flight recorder: \(lines.count) lines follow"))
        for line in lines { put(LogEntry(level: .info, message: "| \(line.text)")) }
    }

    /// Has the lines that are kept written to standard error if the process crashes.
    package func writeAtCrash() { recorder.writeAtCrash() }
}

/// What swift-log hands events to.
struct DaemonLog: LogHandler {
    var metadata: Logger.Metadata = [:]

    /// The least important level that is looked at: the desk's, unless a copy was told otherwise.
    var logLevel: Logger.Level {
        get { ownLevel ?? desk.level }
        set { ownLevel = newValue }
    }

    private let desk: LogDesk
    private var ownLevel: Logger.Level?

    /// A handler for `desk`.
    init(_ desk: LogDesk) { self.desk = desk }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = all.sorted { $0.key < $1.key }.map {
            LogEntry.Field(name: $0.key, value: "\($0.value)")
        }
        desk.take(LogEntry(level: event.level, message: "\(event.message)", fields: fields), event)
    }
}
