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
        // SAFETY: the octets live during the call.  A log that cannot be written has nobody left to
        // tell.
        _ = unsafe octets.withUnsafeBytes {
            unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
        }
    }
}
