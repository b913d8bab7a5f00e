// SPDX-License-Identifier: Apache-2.0

/// How far the vendor's clock is from ours, as far as its refusals have taught us.
///
/// A request is signed with our time and the offset.  When it is refused, the reply's `Date` tells
/// the vendor's time: if that is not what we signed with, the request is worth signing once more.
/// Only an accepted request makes an offset the one that later requests use, so that a refusal for
/// another reason, with whatever `Date`, leaves no trace.
///
/// What is signed for a time to come can be sent by whoever saw it until then.  So an offset has a
/// bound, which is low without TLS, where a stranger can write the `Date`; and from time to time a
/// request is signed with our own time, which drops the offset if it is accepted.
struct ClockSkew: Sendable, Hashable {
    /// What to do about a refused request.
    enum Repair: Sendable, Hashable {
        /// Nothing: time is not what was wrong with it.
        case none

        /// Sign it once more, with this offset.
        case sign(Int64)

        /// Nothing: the clocks are so far apart, in seconds, that the reply is not believed.
        case refused(Int64)
    }

    /// Seconds to add to our time; nil as long as ours was good enough.
    private(set) var offset: Int64?

    /// The offset that was not believed, if the vendor has accepted no request since.
    private(set) var refusedOffset: Int64?

    /// How often a repair made a refused request acceptable.
    private(set) var repairs: UInt64 = 0

    /// When a request is to be signed with our own time again; nil without an offset.
    private var retestAt: ContinuousClock.Instant?

    /// The vendor's time when ours is `wallSeconds`.
    func vendorSeconds(at wallSeconds: Int64) -> Int64 { wallSeconds &+ (offset ?? 0) }

    /// The largest offset that is believed, in seconds: a day over TLS, else ten minutes.
    static func limit(usesTLS: Bool) -> Int64 {
        usesTLS ? ClientLimits.longestSkew : ClientLimits.longestUnprotectedSkew
    }

    /// What to do about a request that was refused.
    ///
    /// - Parameters:
    ///   - used: the time that the refused request was signed with, less our time then.
    ///   - vendorSeconds: what the vendor's clock shows.
    ///   - wallSeconds: what ours shows.
    ///   - limit: the largest offset that is believed, in seconds.
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
    /// The offset to sign the next request with, and whether it is left out to see if it is needed.
    mutating func next(at now: ContinuousClock.Instant) -> (offset: Int64, isRetest: Bool) {
        guard let offset else { return (0, false) }
        guard let retestAt, now >= retestAt else { return (offset, false) }
        self.retestAt = now + ClientLimits.skewRetest
        return (0, true)
    }

    /// A request that was signed with `offset` was accepted.
    mutating func accepted(with offset: Int64) {
        refusedOffset = nil
        guard offset == 0 else { return }
        self.offset = nil
        retestAt = nil
    }

    /// A request that was refused, and signed again with `offset`, was accepted.
    mutating func repaired(with offset: Int64, at now: ContinuousClock.Instant) {
        self.offset = offset
        refusedOffset = nil
        retestAt = now + ClientLimits.skewRetest
        repairs += 1
    }

    /// An offset was not believed.
    ///
    /// - Returns: whether none has been refused since the vendor accepted a request.
    mutating func refused(_ offset: Int64) -> Bool {
        defer { refusedOffset = offset }
        return refusedOffset == nil
    }

    /// The same vendor's clock under other settings; repairs are counted where they were made.
    mutating func takeOver(from old: ClockSkew) {
        offset = old.offset
        retestAt = old.retestAt
    }
}
