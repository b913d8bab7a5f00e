// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Reads to the end of the file, or until more than `limit` octets are read.
///
/// - Returns: the octets and the error number; the error number is 0 if no call failed.
func readAll(_ descriptor: Int32, limit: Int) -> (octets: [UInt8], error: Int32) {
    var octets: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while octets.count <= limit {
        // SAFETY: read(2) writes at most `bytes.count` octets, the size of the buffer.
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe read(descriptor, bytes.baseAddress, bytes.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return (octets, count < 0 ? errno : 0) }
        octets += buffer[..<count]
    }
    return (octets, 0)
}

/// Writes all octets; returns the error number of a failed call.
func writeAll(_ octets: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = octets[...]
    while !rest.isEmpty {
        // SAFETY: write(2) reads at most the count of the buffer.
        let count = unsafe rest.withUnsafeBytes { bytes in
            unsafe write(descriptor, bytes.baseAddress, bytes.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return errno }
        rest = rest.dropFirst(count)
    }
    return nil
}

enum Readiness {
    /// Waits until `descriptor` is ready for `events`, or until `deadline`.
    ///
    /// - Returns: 0 if the descriptor is ready, the error number of a failed call, or nil at the
    ///   deadline.
    static func wait(
        _ descriptor: Int32,
        for events: Int32,
        until deadline: ContinuousClock.Instant?
    ) -> Int32? {
        while true {
            var milliseconds: Int64 = -1
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero else { return nil }
                let parts = left.components
                milliseconds = parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000 + 1
            }
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            // SAFETY: poll(2) reads and writes one entry.
            let count = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
            if count > 0 { return 0 }
            if count < 0, errno != EINTR { return errno }
        }
    }
}
