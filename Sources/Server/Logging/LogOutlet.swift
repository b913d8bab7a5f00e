// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Net

/// How lines look that are written to standard error.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

/// Where entries go.
struct LogOutlet: Sendable {
    /// Writes an entry; of the formats, the journal needs none.
    let put: @Sendable (LogEntry, LogFormat) -> Void

    /// The journal if standard error is its, else standard error.
    static var standard: LogOutlet { Journal.isStandardError ? journal : standardError }

    /// One write a line.
    private static let standardError = LogOutlet { entry, format in
        write(format == .json ? entry.json : entry.text)
    }

    /// An entry with fields; a line with the priority if the journal does not take it.
    private static let journal = LogOutlet { entry, _ in
        if !Journal.send(entry.journalFields) { write(entry.prefixed) }
    }

    private static func write(_ line: String) {
        let octets = Array(line.utf8) + [0x0A]
        var rest = octets[...]
        while !rest.isEmpty {
            // SAFETY: the octets live during the call.
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another program that shares it may have made it one that does not block.
                var event = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
                // SAFETY: one pollfd is written.
                unsafe poll(&event, 1, -1)
            } else if errno != EINTR {
                // A log that cannot be written cannot be complained about.
                return
            }
        }
    }
}
