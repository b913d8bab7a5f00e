// SPDX-License-Identifier: Apache-2.0

/// How far the vendor's clock is from ours, as far as its refusals have taught us.
///
/// A request is signed with our time and the offset.  When it is refused, the reply's `Date` tells
/// the vendor's time: if that is not what we signed with, the request is worth signing once more.
/// Only an accepted request makes an offset the one that later requests use, so that a refusal for
/// another reason, with whatever `Date`, leaves no trace.
struct ClockSkew: Sendable, Hashable {
    /// Seconds to add to our time; nil as long as ours was good enough.
    private(set) var offset: Int64?

    /// How often a repair made a refused request acceptable.
    private(set) var repairs: UInt64 = 0

    /// The vendor's time when ours is `wallSeconds`.
    func vendorSeconds(at wallSeconds: Int64) -> Int64 { wallSeconds &+ (offset ?? 0) }

    /// The offset to sign with once more, after a request was refused.
    ///
    /// - Parameters:
    ///   - used: the time that the refused request was signed with, less our time then.
    ///   - vendorSeconds: what the vendor's clock shows.
    ///   - wallSeconds: what ours shows.
    /// - Returns: nil if time is not what was wrong with the request.
    func repair(used: Int64, vendorSeconds: Int64, wallSeconds: Int64) -> Int64? {
        let (found, overflow) = vendorSeconds.subtractingReportingOverflow(wallSeconds)
        guard !overflow else { return nil }
        let (change, tooFar) = found.subtractingReportingOverflow(used)
        guard !tooFar, change.magnitude > UInt64(ClientLimits.tolerableSkew) else { return nil }
        return found
    }

    /// The same vendor's clock under other settings; repairs are counted where they were made.
    mutating func takeOver(from old: ClockSkew) { offset = old.offset }

    /// A request that was signed again with `offset` was accepted.
    mutating func repaired(with offset: Int64) {
        self.offset = offset
        repairs += 1
    }
}
