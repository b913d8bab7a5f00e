// SPDX-License-Identifier: Apache-2.0

/// Estimate of the difference between the vendor's clock and the local clock.
///
/// A refused request is signed again with the time of the reply's `Date`. Only an accepted request
/// stores the new offset. A request signed for a future time can be replayed until then; the offset
/// is therefore limited, more strictly without TLS, where `Date` can be forged. At intervals one
/// request is signed with the local time; if it is accepted, the offset is dropped.
struct ClockSkew: Sendable, Hashable {
    enum Repair: Sendable, Hashable {
        /// No retry: time is not the cause.
        case none

        /// Retry with this offset in seconds.
        case sign(Int64)

        /// No retry: this offset in seconds is too large.
        case refused(Int64)
    }

    /// Seconds to add to the local time; nil for none.
    private(set) var offset: Int64?

    /// Rejected offset in seconds, until the vendor accepts a request.
    private(set) var refusedOffset: Int64?

    /// Requests accepted because of a correction.
    private(set) var repairs: UInt64 = 0

    private var retestAt: Instant?

    /// Returns the largest accepted offset in seconds.
    static func limit(usesTLS: Bool) -> Int64 {
        usesTLS ? ClientLimits.longestSkew : ClientLimits.longestUnprotectedSkew
    }

    /// Returns the action after a refused request that was signed with the offset `used`; all in
    /// seconds.
    func repair(used: Int64, vendorSeconds: Int64, wallSeconds: Int64, limit: Int64) -> Repair {
        let (found, overflow) = vendorSeconds.subtractingReportingOverflow(wallSeconds)
        guard !overflow else { return .none }
        let (change, tooFar) = found.subtractingReportingOverflow(used)
        guard !tooFar, change.magnitude > UInt64(ClientLimits.tolerableSkew) else { return .none }
        return found.magnitude <= UInt64(limit) ? .sign(found) : .refused(found)
    }
}

// MARK: - Events

extension ClockSkew {
    /// Returns the offset for the next request; a retest omits the known offset.
    mutating func next(at now: Instant) -> (offset: Int64, isRetest: Bool) {
        guard let offset else { return (0, false) }
        guard let retestAt, now >= retestAt else { return (offset, false) }
        self.retestAt = now + ClientLimits.skewRetest
        return (0, true)
    }

    mutating func accepted(with offset: Int64) {
        refusedOffset = nil
        guard offset == 0 else { return }
        self.offset = nil
        retestAt = nil
    }

    /// Records that a refused request was accepted when signed with `offset`.
    mutating func repaired(with offset: Int64, at now: Instant) {
        self.offset = offset
        refusedOffset = nil
        retestAt = now + ClientLimits.skewRetest
        repairs += 1
    }

    /// Records an offset above the limit; returns true for the first since an accepted request.
    mutating func refused(_ offset: Int64) -> Bool {
        defer { refusedOffset = offset }
        return refusedOffset == nil
    }

    /// Takes over the offset of the same account's client under earlier settings.
    mutating func takeOver(from old: ClockSkew) {
        offset = old.offset
        retestAt = old.retestAt
    }
}
