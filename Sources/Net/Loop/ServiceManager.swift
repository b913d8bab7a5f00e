// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// Notifications to systemd and sockets from systemd (sd_notify(3), systemd.socket(5)).
@ServiceLoop
package enum ServiceManager {
    package struct ListenDescriptor: Sendable, Hashable {
        /// `FileDescriptorName=` or the name of the socket unit.
        package let name: String
        package let descriptor: Int32
    }

    // MARK: - Notifications

    package static func ready(status text: String) { notify("READY=1\nSTATUS=\(oneLine(text))") }

    package static func reloading() {
        notify("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicMicroseconds)")
    }

    package static func stopping() { notify("STOPPING=1") }

    package static var watchdogInterval: Duration? {
        guard isSet("WATCHDOG_USEC") else { return nil }
        var microseconds: UInt64 = 0
        // SAFETY: writes one integer.
        guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds))
    }

    /// Sends two watchdog notifications per interval until cancelled.
    ///
    /// Sends nothing while `isHealthy` returns false or hangs. If `isHealthy` returns false, it is
    /// called again when 1/30 of the interval has passed.
    package static func feedWatchdog(
        while isHealthy: @ServiceLoop () async -> Bool = { true }
    ) async throws(CancellationError) {
        guard let interval = watchdogInterval else { return }
        while true {
            let passed = await isHealthy()
            if passed { notify("WATCHDOG=1") }
            try await Clocks.system.sleep(Clock.now + interval / (passed ? 2 : 30))
        }
    }

    /// Blocks until the notifications are sent or 200 ms have passed.
    package static func flush() { notifier?.flush(within: .milliseconds(200)) }

    // MARK: - Taking

    /// Returns the sockets from systemd in order; a second call returns none.
    ///
    /// - Throws: `SocketError.system` for malformed environment variables.
    package static func listenDescriptors() throws(SocketError) -> [ListenDescriptor] {
        guard isSet("LISTEN_PID") else { return [] }
        // SAFETY: the text is valid until the next call on this thread.
        if let problem = unsafe systemd_library_load() {
            throw .broken("sockets from systemd: \(unsafe String(cString: problem))")
        }
        var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        // SAFETY: writes an array of `count` texts, which the caller frees.
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

    /// Queues the lines, because sd_notify(3) may block.
    private static func notify(_ lines: String) { notifier?.add(lines) }

    private static let notifier: BackgroundQueue<String>? = {
        guard isSet("NOTIFY_SOCKET") else { return nil }
        return try? BackgroundQueue(named: "notify", itemLimit: notificationLimit) { lines, _ in
            // SAFETY: the text ends with NUL.
            for line in lines { _ = unsafe sd_notify(0, line) }
        }
    }()

    private static let notificationLimit = 64

    private nonisolated static func isSet(_ variable: String) -> Bool {
        // SAFETY: the value is only compared.
        unsafe getenv(variable) != nil
    }

    /// A line break would begin another assignment.
    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
