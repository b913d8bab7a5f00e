// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limit on the number of calls in any period of 60 s (exact sliding window).
///
/// A token bucket would allow up to twice the limit in one minute.
struct CallWindow {
    private var times: [Instant] = []
    private var oldest = 0
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    mutating func takeOver(from old: CallWindow) {
        let times = old.times[old.oldest...] + old.times[..<old.oldest]
        self.times = Array(times.suffix(limit))
        oldest = 0
    }

    mutating func take(_ now: Instant) -> Bool {
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
