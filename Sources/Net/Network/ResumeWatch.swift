// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// Tells when this machine has slept.
///
/// The time between CLOCK_BOOTTIME and CLOCK_MONOTONIC grows while it sleeps, and only then.  When to
/// compare them is told by a timer that the kernel cancels when the wall clock jumps, as it does at
/// the end of each sleep: nothing wakes up to see that nothing has happened.
@ServiceLoop
package final class ResumeWatch {
    /// How long a sleep is at least to be one: connections survive a shorter one.
    package static let shortestSleep: Duration = .seconds(5)

    private let timer: OwnedDescriptor
    private let timeAsleep: () -> Duration
    private let handler: @ServiceLoop (Duration) -> Void
    private var watch: DescriptorWatch?

    /// How long the machine had slept at the latest look.
    private var known: Duration

    /// Calls `handler` with how long the machine has slept, after each sleep, until released.
    ///
    /// - Throws: `SocketError.system`.
    package convenience init(
        _ handler: @escaping @ServiceLoop (Duration) -> Void
    ) throws(SocketError) {
        try self.init(timeAsleep: { Clock.timeAsleep }, handler)
    }

    /// Watches a clock that tells how long the machine has slept since it was started.
    init(
        timeAsleep: @escaping () -> Duration,
        _ handler: @escaping @ServiceLoop (Duration) -> Void
    ) throws(SocketError) {
        timer = try OwnedDescriptor(linux_clock_changes(), from: "timerfd")
        self.timeAsleep = timeAsleep
        self.handler = handler
        known = timeAsleep()
        let raw = timer.raw
        watch = nil
        watch = try DescriptorWatch(raw, .readable) { [weak self] _ in
            var expirations: UInt64 = 0
            // SAFETY: writes at most one integer.  Fails with ECANCELED: that the clock has jumped
            // is all that there is to know, and reading it makes the timer ready for the next time.
            _ = unsafe Glibc.read(raw, &expirations, MemoryLayout<UInt64>.size)
            self?.look()
        }
    }

    isolated deinit { watch?.cancel() }

    /// Compares the clocks, as if the wall clock had jumped.
    func look() {
        let now = timeAsleep()
        let slept = now - known
        known = now
        if slept >= Self.shortestSleep { handler(slept) }
    }
}
