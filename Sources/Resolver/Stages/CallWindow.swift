// SPDX-License-Identifier: Apache-2.0

/// Lets something happen so many times in any minute, and no more often.
///
/// A bucket of tokens would allow twice as many in a minute that begins with a full one; whoever
/// sets a limit on calls that are paid for means it.
struct CallWindow {
    /// The latest times that it happened, at most as many as may be in a minute; from `oldest` on,
    /// round about.
    private var times: [ContinuousClock.Instant] = []
    private var oldest = 0
    private let limit: Int

    /// A window in which it may happen `limit` times.
    init(limit: Int) {
        self.limit = limit
    }

    /// Counts what happened in a window with another limit, the latest of it first.
    mutating func takeOver(from old: CallWindow) {
        let times = old.times[old.oldest...] + old.times[..<old.oldest]
        self.times = Array(times.suffix(limit))
        oldest = 0
    }

    /// Counts one more, unless that would be too many.
    mutating func take(_ now: ContinuousClock.Instant) -> Bool {
        guard limit > 0 else { return false }
        guard times.count == limit else {
            times.append(now)
            return true
        }
        guard times[oldest] + .seconds(60) <= now else { return false }
        times[oldest] = now
        oldest = (oldest + 1) % limit
        return true
    }
}
