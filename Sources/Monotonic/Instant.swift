// SPDX-License-Identifier: Apache-2.0

/// Point in time on CLOCK_BOOTTIME, which advances while the machine is suspended.
///
/// This type replaces `ContinuousClock.Instant`, because copies of that type need expensive calls
/// of the Swift runtime.
///
/// This type is public, because Swift 6.3 inlines no `package` function into another module.
@frozen
public struct Instant: Hashable, Comparable, Sendable {
    /// Nanoseconds since boot, ±292 years.
    public let nanoseconds: Int64

    /// Creates the instant that is `nanoseconds` after boot.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Compares two instants.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the instant that is `duration` later, clamped to ±292 years.
    @inlinable
    public static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(
            duration.clampedNanoseconds
        )
        guard overflow else { return Self(nanoseconds: sum) }
        return Self(nanoseconds: instant.nanoseconds < 0 ? .min : .max)
    }

    /// Returns the instant that is `duration` earlier, clamped to ±292 years.
    @inlinable
    public static func - (instant: Self, duration: Duration) -> Self {
        let (difference, overflow) = instant.nanoseconds.subtractingReportingOverflow(
            duration.clampedNanoseconds
        )
        guard overflow else { return Self(nanoseconds: difference) }
        return Self(nanoseconds: instant.nanoseconds < 0 ? .min : .max)
    }

    /// Returns the duration from `right` to `left`, clamped to ±292 years.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(
            right.nanoseconds
        )
        return .nanoseconds(overflow ? (left < right ? .min : .max) : difference)
    }

    /// Returns the duration until `other`, clamped to ±292 years.
    @inlinable
    public func duration(to other: Self) -> Duration { other - self }

    /// Returns the instant that is `duration` later, clamped to ±292 years.
    @inlinable
    public func advanced(by duration: Duration) -> Self { self + duration }

    /// Adds a duration.
    @inlinable
    public static func += (instant: inout Self, duration: Duration) {
        instant = instant + duration
    }
}

extension Duration {
    /// Number of nanoseconds, clamped to ±292 years.
    @inlinable
    public var clampedNanoseconds: Int64 {
        let attoseconds = attoseconds
        // For durations up to 9 s, a faster 64-bit division is sufficient.
        if let short = Int64(exactly: attoseconds) { return short / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }
}
