// SPDX-License-Identifier: Apache-2.0

/// Estimated difference between the vendor's clock and the local clock.
///
/// A refused request is signed again with the time in the header `Date` of the reply. The offset is
/// stored only if the vendor accepts the second request. The offset has a limit, because a request
/// that is signed for a future time can be replayed until this time.
struct ClockSkew: Sendable, Hashable {
    enum Repair: Sendable, Hashable {
        case none

        /// Retry with this offset in seconds.
        case sign(Int64)

        case refused(Int64)
    }

    /// Seconds to add to the local time.
    private(set) var offset: Int64?

    /// Nil after the vendor has accepted a request.
    private(set) var refusedOffset: Int64?

    private(set) var repairs: UInt64 = 0

    private var retestAt: Instant?

    static func limit(usesTLS: Bool) -> Int64 {
        usesTLS ? ClientLimits.longestSkew : ClientLimits.longestUnprotectedSkew
    }

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
    /// `isRetest` is true if the request tests the local time.
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

    mutating func repaired(with offset: Int64, at now: Instant) {
        self.offset = offset
        refusedOffset = nil
        retestAt = now + ClientLimits.skewRetest
        repairs += 1
    }

    /// Returns true for the first refused offset since the vendor last accepted a request.
    mutating func refused(_ offset: Int64) -> Bool {
        defer { refusedOffset = offset }
        return refusedOffset == nil
    }

    mutating func takeOver(from old: ClockSkew) {
        offset = old.offset
        retestAt = old.retestAt
    }
}
