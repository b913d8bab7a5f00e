// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// The journal of systemd as a place to log to (sd_journal_sendv(3)).
package enum Journal {
    /// Whether standard error is a stream of the journal's, as `$JOURNAL_STREAM` says
    /// (systemd.exec(5)).
    ///
    /// That there is such a variable does not suffice: it is inherited by programs whose standard
    /// error somebody has led elsewhere.
    package static var isStandardError: Bool {
        var status = stat()
        // SAFETY: getenv's text lives until it is copied, as nothing here changes the environment;
        // one `stat` is written.
        guard let stream = unsafe getenv("JOURNAL_STREAM").map({ unsafe String(cString: $0) }),
            unsafe fstat(STDERR_FILENO, &status) == 0
        else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends an entry.
    ///
    /// - Parameter fields: `NAME=value` each, of which the value may be any text.
    /// - Returns: whether the journal has it.
    package static func send(_ fields: [String]) -> Bool {
        var octets: [UInt8] = []
        let ends = fields.map { field in
            octets += field.utf8
            return octets.count
        }
        // SAFETY: the vectors lie within the octets, which live during the call and are only read.
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
