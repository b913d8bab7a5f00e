// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limits similar entries to one log line per minute.
///
/// Entries are similar if the same line of code logs them with equal fields.
///
/// Entries below level notice and entries without fields have no limit. Therefore, if clients or
/// the network can cause an entry of level notice or above, this entry must have fields.
struct LogLimiter {
    static let window: Duration = .seconds(60)

    /// Maximum number of kinds that have their own limit; all further kinds share one limit.
    static let mostKinds = 256

    struct Kind: Hashable {
        var file: String
        var line: UInt
        var fields: String
    }

    private struct Logged {
        var entry: LogEntry
        var end: Instant
        var more = 0
    }

    private var logged: [Kind: Logged] = [:]

    enum Decision: Equatable {
        case log

        /// The entry is not logged, but counted for a summary.
        ///
        /// `until` is the end of the minute for the first counted entry, and nil for later entries.
        case count(until: Instant?)
    }

    mutating func decide(_ entry: LogEntry, _ kind: Kind, now: Instant) -> Decision {
        var kind = kind
        if logged[kind] == nil {
            if logged.count >= Self.mostKinds { logged = logged.filter { now < $0.value.end } }
            if logged.count >= Self.mostKinds { kind = Kind(file: "", line: 0, fields: "") }
        }
        guard var known = logged[kind], now < known.end else {
            logged[kind] = Logged(entry: entry, end: now + Self.window)
            return .log
        }
        known.more += 1
        logged[kind] = known
        return .count(until: known.more == 1 ? known.end : nil)
    }

    /// Removes kinds after the end of their minute, and returns summaries of counted entries.
    mutating func counts(now: Instant) -> [LogEntry] {
        let over = logged.filter { $0.value.end <= now }
        for kind in over.keys { logged[kind] = nil }
        return over.values.filter { $0.more > 0 }.map { known in
            var entry = known.entry
            entry.message +=
                " (and \(known.more) similar messages in \(Self.window.components.seconds) s)"
            entry.time = LogEntry.now
            return entry
        }
    }
}
