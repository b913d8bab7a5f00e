// SPDX-License-Identifier: Apache-2.0

/// Estimate of the difference between the vendor's clock and the local clock.
///
/// If the vendor refuses a request and the reply's `Date` differs from the signing time, the
/// request is signed again with the vendor's time. Only an accepted request stores a new offset.
///
/// A request signed for a future time can be replayed until then. The offset is therefore limited,
/// more strictly without TLS, where `Date` can be forged. At intervals one request is signed with
/// the local time; if it is accepted, the offset is dropped.
struct ClockSkew: Sendable, Hashable {
    /// Action after a refused request.
    enum Repair: Sendable, Hashable {
        /// No retry: the refusal is not about time.
        case none

        /// Retry, signed with this offset in seconds.
        case sign(Int64)

        /// No retry: this offset in seconds exceeds the limit.
        case refused(Int64)
    }

    /// Seconds to add to the local time; nil while no correction is needed.
    private(set) var offset: Int64?

    /// Rejected offset in seconds; nil again once the vendor accepts a request.
    private(set) var refusedOffset: Int64?

    /// Requests that a correction made acceptable.
    private(set) var repairs: UInt64 = 0

    /// Time of the next request without the correction; nil without an offset.
    private var retestAt: Instant?

    /// Returns the largest accepted offset in seconds: a day over TLS, else ten minutes.
    static func limit(usesTLS: Bool) -> Int64 {
        usesTLS ? ClientLimits.longestSkew : ClientLimits.longestUnprotectedSkew
    }

    /// Returns the action after a refused request.
    ///
    /// - Parameters:
    ///   - used: offset in seconds that the request was signed with.
    ///   - vendorSeconds: vendor's time.
    ///   - wallSeconds: local time.
    ///   - limit: largest accepted offset in seconds.
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
    /// Returns the offset for the next request; `isRetest` is true if a known offset is left out.
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

    /// Records an offset beyond the limit.
    ///
    /// - Returns: true if it is the first since the vendor last accepted a request.
    mutating func refused(_ offset: Int64) -> Bool {
        defer { refusedOffset = offset }
        return refusedOffset == nil
    }

    /// Takes over the offset from the same account's client under earlier settings.
    mutating func takeOver(from old: ClockSkew) {
        offset = old.offset
        retestAt = old.retestAt
    }
}
