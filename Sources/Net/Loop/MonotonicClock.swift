// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// The only place in the daemon that reads a clock.
///
/// Everything that decides by time takes an instant as an argument and is given one from here.
package enum Clock {
    /// The instant now, on a clock that also runs while the machine sleeps (CLOCK_BOOTTIME).
    ///
    /// Time asleep counts because a TTL goes on counting down while a laptop's lid is shut.
    package static var now: ContinuousClock.Instant { ContinuousClock.now }

    /// Seconds since 1970 by the wall clock, which may jump: for signatures and log lines only.
    package static var wallSeconds: Int64 { Int64(read(CLOCK_REALTIME).tv_sec) }

    /// Milliseconds since 1970 by the wall clock, which may jump: for what is shown to people only.
    package static var wallMilliseconds: Int64 {
        let time = read(CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which stands while the machine sleeps:
    /// how long it has slept since it was started.
    static var timeAsleep: Duration {
        let monotonic = read(CLOCK_MONOTONIC)
        let boottime = read(CLOCK_BOOTTIME)
        return .seconds(boottime.tv_sec - monotonic.tv_sec)
            + .nanoseconds(boottime.tv_nsec - monotonic.tv_nsec)
    }

    /// Microseconds on CLOCK_MONOTONIC, the clock that systemd's `RELOADING=1` wants.
    static var monotonicMicroseconds: UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    /// Microseconds on CLOCK_BOOTTIME at `instant`, rounded up so that no timer fires early.
    static func bootMicroseconds(_ instant: ContinuousClock.Instant) -> UInt64 {
        let (seconds, attoseconds) = ContinuousClock().systemEpoch.duration(to: instant).components
        guard seconds >= 0 else { return 0 }
        let micros = seconds.multipliedReportingOverflow(by: 1_000_000)
        guard !micros.overflow else { return UInt64.max - 1 }
        return UInt64(micros.partialValue)
            + UInt64((attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }

    /// What `clock` shows.
    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // SAFETY: writes one timespec; the clocks named above exist on every Linux.
        unsafe clock_gettime(clock, &time)
        return time
    }
}

extension Duration {
    /// Whole nanoseconds, from 0 to some 584 years.
    package var nanoseconds: UInt64 {
        let (attoseconds, most) = (self.attoseconds, Int128(UInt64.max))
        guard attoseconds >= 0 else { return 0 }
        // 18 s or less, as a latency is: a division of 64 bits, and not the 190 instructions that
        // `components` takes.
        guard attoseconds > most else { return UInt64(attoseconds) / 1_000_000_000 }
        return UInt64(clamping: attoseconds / 1_000_000_000)
    }

    /// Whole milliseconds, rounded up, at least 0: what interfaces in milliseconds are given.
    var millisecondsRoundedUp: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let limit: Int64 = 1 << 40
        return Int(min(seconds, limit)) * 1000
            + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
