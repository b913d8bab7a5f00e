// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import Logging
internal import Net
internal import Synchronization

/// The least important level that is logged, the same for all copies of a handler.
package final class LogThreshold: Sendable {
    /// The level by its place in `Logger.Level.allCases`.
    private let rank: Atomic<Int>

    /// A threshold that lets messages of at least `level` pass.
    package init(_ level: Logger.Level) { rank = Atomic(Self.rank(of: level)) }

    /// The level; from any thread.
    package var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(Self.rank(of: newValue), ordering: .relaxed) }
    }

    private static func rank(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}

/// Writes log lines to standard error, one write a line, as the journal or a terminal wants them.
package struct StandardErrorLog: LogHandler {
    package var metadata: Logger.Metadata = [:]

    /// The least important level that is logged: the threshold's, unless a copy was told otherwise.
    package var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    private let threshold: LogThreshold
    private var ownLevel: Logger.Level?

    /// Whether standard error is the journal's: it gets priorities and has a clock of its own.
    private let isJournal: Bool

    /// A handler for messages that pass `threshold`.
    package init(_ threshold: LogThreshold) {
        self.threshold = threshold
        // SAFETY: getenv's text is only compared with nil.
        isJournal = unsafe getenv("JOURNAL_STREAM") != nil
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line = isJournal ? "<\(event.level.priority)>" : "\(Self.time) \(event.level): "
        line += "\(event.message)"
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        let octets = Array(Self.oneLine(line).utf8) + [0x0A]
        // SAFETY: the octets live during the call.  A log that cannot be written has nobody left to
        // tell.
        _ = unsafe octets.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// `text` without anything that would end the line or move a terminal's cursor: what is logged
    /// comes from outside (CWE-117).
    static func oneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return text }
        return text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control
                ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }.joined()
    }

    /// The time of day in the machine's zone.
    private static var time: String {
        var now = time_t(Clock.wallSeconds)
        var parts = unsafe tm()
        var text = [CChar](repeating: 0, count: 32)
        // SAFETY: all three live during the calls; strftime writes at most `text.count` octets.
        let count = unsafe strftime(
            &text,
            text.count,
            "%Y-%m-%dT%H:%M:%S%z",
            localtime_r(&now, &parts)
        )
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension Logger.Level {
    /// The priority of syslog(3) and sd-daemon(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
