// SPDX-License-Identifier: Apache-2.0

/// Limit on the part of the ring buffer that large answers can use.
///
/// Without this limit, the owner of a domain could evict all other answers with a thousand queries.
struct LargeAnswers: Equatable {
    /// In octets.
    static let threshold = 2 << 10

    /// Milliseconds after which the whole share is free again.
    static let period: UInt64 = 3_600_000

    private var used = 0
    private var latest: UInt64 = 0

    /// Returns false if the entry is large, and the free part of the share is too small for it.
    ///
    /// The share of large entries is an eighth of the ring buffer, but at least 128 KiB. A large
    /// entry uses `length` octets of the share. A small entry frees a seventh of `length`.
    ///
    /// - Parameter now: in milliseconds.
    mutating func admit(_ length: Int, of capacity: Int, now: UInt64) -> Bool {
        guard length > Self.threshold else {
            used -= min(used, length / 7)
            return true
        }
        let share = max(capacity / 8, 128 << 10)
        let passed = min(now - min(now, latest), Self.period)
        let freed = share * Int(passed) / Int(Self.period)
        if freed > 0 {
            used -= min(used, freed)
            latest = now
        }
        guard used + length <= share else { return false }
        used += length
        return true
    }
}
