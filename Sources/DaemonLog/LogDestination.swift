// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Glibc
internal import Net

struct LogDestination: Sendable {
    /// Callable from any thread; returns false if the write failed.
    let put: @Sendable (LogEntry, LogFormat) -> Bool

    static var standard: LogDestination { Journal.isStandardError ? journal : standardError }
    private static let standardError = LogDestination { entry, format in
        write(format == .json ? entry.json : entry.text)
    }

    /// Writes to the journal; after a failure, to standard error.
    private static let journal = LogDestination { entry, _ in
        Journal.send(entry.journalFields) || write(entry.prefixed)
    }

    static func write(_ line: String, to descriptor: Int32 = STDERR_FILENO) -> Bool {
        let octets = Array(line.utf8) + [0x0A]
        var rest = octets[...]
        while !rest.isEmpty {
            // SAFETY: the octets live during the call.
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process may have made standard error non-blocking.
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                // SAFETY: one pollfd is written.
                unsafe poll(&event, 1, -1)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
