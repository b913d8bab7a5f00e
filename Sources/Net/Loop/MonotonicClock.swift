// SPDX-License-Identifier: Apache-2.0
private import Glibc
@_exported public import Monotonic

/// Functions that read the system's clocks.
package enum Clock {
    /// Time of CLOCK_BOOTTIME, which also advances during suspension, so that TTLs expire.
    package static var now: Instant {
        let time = read(CLOCK_BOOTTIME)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Wall clock in seconds since 1970, which may jump; at most one timer tick late.
    package static var wallSeconds: Int64 { Int64(read(CLOCK_REALTIME_COARSE).tv_sec) }

    package static var wallMilliseconds: Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    static var timeAsleep: Duration {
        let monotonic = read(CLOCK_MONOTONIC)
        let boottime = read(CLOCK_BOOTTIME)
        return .seconds(boottime.tv_sec - monotonic.tv_sec)
            + .nanoseconds(boottime.tv_nsec - monotonic.tv_nsec)
    }

    /// CLOCK_MONOTONIC, for `RELOADING=1` of sd_notify(3).
    static var monotonicMicroseconds: UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    /// Rounds up, so that no timer fires early.
    static func bootMicroseconds(_ instant: Instant) -> UInt64 {
        let nanoseconds = UInt64(max(0, instant.nanoseconds))
        return nanoseconds / 1000 + (nanoseconds % 1000 > 0 ? 1 : 0)
    }

    static var threadTime: Duration {
        let time = read(CLOCK_THREAD_CPUTIME_ID)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // SAFETY: writes one timespec.
        unsafe clock_gettime(clock, &time)
        return time
    }
}

extension Duration {
    /// Clamped to 0…584 years.
    package var nanoseconds: UInt64 {
        let (attoseconds, most) = (self.attoseconds, Int128(UInt64.max))
        guard attoseconds >= 0 else { return 0 }
        guard attoseconds > most else { return UInt64(attoseconds) / 1_000_000_000 }
        return UInt64(clamping: attoseconds / 1_000_000_000)
    }

    /// Rounded up, at least 0.
    var millisecondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let limit: Int64 = 1 << 40
        return Int(min(seconds, limit)) * 1000
            + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
