// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// What this process tells systemd, and what systemd has given it (sd_notify(3), systemd.socket(5)).
///
/// Started by anything else, it tells nobody, and everything here does nothing.
@ServiceLoop
package enum ServiceManager {
    /// A socket that systemd listens with for us.
    package struct ListenDescriptor: Sendable, Hashable {
        /// The name given by `FileDescriptorName=`, else the socket unit's name.
        package let name: String
        /// The descriptor, now ours.
        package let descriptor: Int32
    }

    // MARK: - Telling

    /// Tells that the first query could be answered now.
    package static func ready(status text: String) { notify("READY=1\nSTATUS=\(oneLine(text))") }

    /// Shows `text` in `systemctl status`.
    package static func status(_ text: String) { notify("STATUS=\(oneLine(text))") }

    /// Tells that the settings are being read again; ``ready(status:)`` ends this.
    package static func reloading() {
        notify("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicMicroseconds)")
    }

    /// Tells that the end has begun.
    package static func stopping() { notify("STOPPING=1") }

    /// How often systemd wants to hear from the watchdog, nil if it does not care.
    package static var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        // SAFETY: writes one integer; the environment is left as it is.
        guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// Feeds the watchdog twice an interval until cancelled; returns at once if there is none.
    ///
    /// It runs on the loop, so a loop that hangs is noticed.
    ///
    /// - Parameter isHealthy: asked each time; systemd hears nothing while it says no, or while it
    ///   does not answer.
    package static func feedWatchdog(
        while isHealthy: @ServiceLoop () async -> Bool = { true }
    ) async throws(CancellationError) {
        guard let interval = watchdogInterval else { return }
        while true {
            if await isHealthy() { notify("WATCHDOG=1") }
            try await ServiceLoop.sleep(until: Clock.now + interval / 2)
        }
    }

    /// Waits until the manager has been told everything, but not for long: for the end of the process.
    package static func flush() { notifier?.flush(within: .milliseconds(200)) }

    // MARK: - Taking

    /// The sockets of our socket units, in their order; once only, then none are left.
    ///
    /// - Throws: `SocketError.system`: the environment says nonsense.
    package static func listenDescriptors() throws(SocketError) -> [ListenDescriptor] {
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        // SAFETY: writes an array of texts, as many as it returns, both to be freed by us.
        let count = unsafe sd_listen_fds_with_names(1, &names)
        guard count >= 0 else { throw .system(call: "sd_listen_fds", code: -count) }
        guard let names = unsafe names else { return [] }
        defer { unsafe free(names) }
        return (0..<Int(count)).map { index in
            let name = unsafe names[index].map { unsafe String(cString: $0) } ?? ""
            unsafe free(names[index])
            return ListenDescriptor(name: name, descriptor: SD_LISTEN_FDS_START + Int32(index))
        }
    }

    // MARK: - Private helpers

    /// Has a thread send lines of assignments; if that fails, systemd notices.
    ///
    /// sd_notify(3) blocks while the manager does not read.  Then the loop goes on, and what does not
    /// fit in the queue is lost.
    private static func notify(_ lines: String) { notifier?.add(lines) }

    /// The queue of notifications; nil if no manager wants any.
    private static let notifier: BackgroundQueue<String>? = {
        // SAFETY: the value is only compared, and nothing here changes the environment.
        guard unsafe getenv("NOTIFY_SOCKET") != nil else { return nil }
        return try? BackgroundQueue(named: "notify", itemLimit: notificationLimit) { lines, _ in
            // SAFETY: the text ends with NUL; the environment is left as it is.
            for line in lines { _ = unsafe sd_notify(0, line) }
        }
    }()

    /// Notifications that wait at most: those of a minute with the shortest watchdog that is sensible.
    private static let notificationLimit = 64

    /// `text` without line breaks, which would begin another assignment.
    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
