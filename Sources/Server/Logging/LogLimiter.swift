// SPDX-License-Identifier: Apache-2.0

/// Lets what is the same be told once a minute, and counts the rest.
///
/// The same is what one line of the code says of the same things: of a server and a kind of failure,
/// not of a number.  What is about nothing in particular is not limited: nobody outside makes it happen.
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
