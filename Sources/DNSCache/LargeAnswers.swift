// SPDX-License-Identifier: Apache-2.0

/// Limit on the part of the ring buffer that large answers can use.
///
/// Without this limit, the owner of a domain could evict all other answers with a thousand queries
/// for answers of 64 KiB. Then further queries for the evicted names would cause billed vendor
/// calls. With the limit, this attack needs 30 times as many queries.
struct LargeAnswers: Equatable {
    /// Size in octets above which an entry counts as large.
    static let threshold = 2 << 10

    /// Milliseconds after which large answers can use their whole share again, even if the cache
    /// stores no other answers in this time.
    static let period: UInt64 = 3_600_000

    private var used = 0
    private var latest: UInt64 = 0

    /// Counts the entry, and returns true; returns false if the entry is large and the share is
    /// full.
    ///
    /// Large entries can use the *share*: an eighth of the ring buffer, but at least 128 KiB.
    /// Within one ``period``, all used octets of the share become free again. The octets become
    /// free earlier if the cache stores small answers: seven octets of small answers free one octet
    /// of the share. An entry for which the result is false uses no octets of the share.
    ///
    /// - Parameters:
    ///   - length: octets of the entry.
    ///   - capacity: octets of the ring buffer.
    ///   - now: milliseconds since `AnswerCache.origin`.
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
