// SPDX-License-Identifier: Apache-2.0

/// Limits lines of the log to one a minute and kind, and counts the rest.
///
/// A kind is a line of the code and its fields: a server and a kind of failure, not a number.  The
/// limit holds from level notice up, for lines with fields.  A line that a client, an upstream, a
/// vendor or the network can cause must have fields; with more than ``mostKinds`` kinds the others
/// share one limit, so all such lines together are bounded.
struct LogLimiter {
    /// How long what was told is not told again.
    static let window: Duration = .seconds(60)

    /// Kinds that are told apart; further ones are the same.
    static let mostKinds = 256

    /// Of what a line is one.
    struct Kind: Hashable {
        var file: String
        var line: UInt
        var fields: String
    }

    /// A kind that was told not long ago.
    private struct Told {
        var entry: LogEntry
        var end: ContinuousClock.Instant
        var more = 0
    }

    private var told: [Kind: Told] = [:]

    /// Whether an entry is to be told now.
    enum Verdict: Equatable {
        case tell

        /// It is counted; with the first, when the count is to be told.
        case count(until: ContinuousClock.Instant?)
    }

    /// Judges an entry that is about to be told.
    mutating func judge(
        _ entry: LogEntry,
        _ kind: Kind,
        now: ContinuousClock.Instant
    ) -> Verdict {
        var kind = kind
        if told[kind] == nil {
            if told.count >= Self.mostKinds { told = told.filter { now < $0.value.end } }
            if told.count >= Self.mostKinds { kind = Kind(file: "", line: 0, fields: "") }
        }
        guard var known = told[kind], now < known.end else {
            told[kind] = Told(entry: entry, end: now + Self.window)
            return .tell
        }
        known.more += 1
        told[kind] = known
        return .count(until: known.more == 1 ? known.end : nil)
    }

    /// What is to be said of those that were counted until `now`.
    mutating func counts(now: ContinuousClock.Instant) -> [LogEntry] {
        let over = told.filter { $0.value.end <= now }
        for kind in over.keys { told[kind] = nil }
        return over.values.filter { $0.more > 0 }.map { known in
            var entry = known.entry
            entry.message +=
                ": and \(known.more) more like it in \(Self.window.components.seconds) s"
            entry.time = LogEntry.now
            return entry
        }
    }
}
