// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// Detects the resume of this machine after suspension, but not the pause of a virtual machine.
///
/// The kernel cancels the timer at every resume, and when the wall clock is set. Only a suspension
/// increases the difference of CLOCK_BOOTTIME and CLOCK_MONOTONIC.
@ServiceLoop
package final class ResumeWatch {
    /// Connections survive shorter suspensions.
    package static let shortestSleep: Duration = .seconds(5)

    private let timer: OwnedDescriptor
    private let timeAsleep: () -> Duration
    private let handler: @ServiceLoop (Duration) -> Void
    private var watch: DescriptorWatch?

    private var known: Duration

    package convenience init(
        _ handler: @escaping @ServiceLoop (Duration) -> Void
    ) throws(SocketError) {
        try self.init(timeAsleep: { Clock.timeAsleep }, handler)
    }

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
            // SAFETY: writes at most one integer. The read fails with ECANCELED. Without the read,
            // the kernel would not report the next cancellation.
            _ = unsafe Glibc.read(raw, &expirations, MemoryLayout<UInt64>.size)
            self?.look()
        }
    }

    isolated deinit { watch?.cancel() }

    func look() {
        let now = timeAsleep()
        let slept = now - known
        known = now
        if slept >= Self.shortestSleep { handler(slept) }
    }
}
