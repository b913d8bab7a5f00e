// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// Logging to the systemd journal (sd_journal_sendv(3)).
package enum Journal {
    /// True if standard error is the journal (`$JOURNAL_STREAM`, systemd.exec(5)).
    ///
    /// A child process inherits the variable even if its standard error is redirected.
    package static var isStandardError: Bool {
        var status = stat()
        // SAFETY: the text of getenv is copied; fstat writes one `stat`.
        guard let stream = unsafe getenv("JOURNAL_STREAM").map({ unsafe String(cString: $0) }),
            unsafe fstat(STDERR_FILENO, &status) == 0
        else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends `NAME=value` fields; returns true if the journal accepted them.
    package static func send(_ fields: [String]) -> Bool {
        var octets: [UInt8] = []
        let ends = fields.map { field in
            octets += field.utf8
            return octets.count
        }
        // SAFETY: the vectors lie within the octets, which live during the call.
        return unsafe octets.withUnsafeMutableBytes { octets in
            var start = 0
            let vectors = unsafe ends.map { end in
                defer { start = end }
                return unsafe iovec(
                    iov_base: octets.baseAddress.map { unsafe $0 + start },
                    iov_len: end - start
                )
            }
            return unsafe sd_journal_sendv(vectors, Int32(vectors.count)) == 0
        }
    }
}
