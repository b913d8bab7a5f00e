// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Small file that several processes change, each under `flock`, which ends with its process.
///
/// One `pwrite` replaces the content, so a killed process leaves the old or the new content.
@ServiceLoop
package final class SharedFile {
    package let path: String

    private var file: OwnedDescriptor?

    /// Reason why the file was not changed.
    package enum Fault: Error {
        case unavailable(String)

        /// Locked, too large, or not readable or writable.
        case failed(String)
    }

    /// In octets.
    package nonisolated static let largest = 64 << 10

    /// Other processes hold the lock for microseconds.
    private nonisolated static let attempts = 1_000

    /// First use creates the file (mode 0600) and its directory (0700).
    package nonisolated init(_ path: String) { self.path = path }

    /// Replaces the content, empty in a new file, by the result of `change`; nil changes nothing.
    package func change(_ change: (ArraySlice<UInt8>) -> [UInt8]?) throws(Fault) {
        let raw = try open()
        try lock(raw)
        defer { flock(raw, LOCK_UN) }
        guard let octets = change(try read(raw)) else { return }
        // SAFETY: pwrite reads the octets of the array, which lives during the call.
        let count = unsafe octets.withUnsafeBytes {
            unsafe pwrite(raw, $0.baseAddress, $0.count, 0)
        }
        guard count == octets.count, ftruncate(raw, off_t(count)) == 0 else {
            throw .failed("cannot write \(path): \(errorText(errno))")
        }
    }

    /// Opens the file if it is not open or was removed.
    private func open() throws(Fault) -> Int32 {
        if let raw = file?.raw {
            var status = stat()
            // SAFETY: fstat writes the structure, which lives during the call.
            if unsafe fstat(raw, &status) == 0, status.st_nlink > 0 { return raw }
            file = nil
        }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        // SAFETY: mkdir and open read the path as a C string, which Swift makes for the call.
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw .unavailable("cannot create \(directory): \(errorText(errno))")
        }
        let raw = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard raw >= 0 else { throw .unavailable("cannot open \(path): \(errorText(errno))") }
        file = OwnedDescriptor(taking: raw)
        return raw
    }

    private func lock(_ raw: Int32) throws(Fault) {
        for _ in 0..<Self.attempts {
            if flock(raw, LOCK_EX | LOCK_NB) == 0 { return }
            sched_yield()
        }
        throw .failed("another process holds the lock of \(path)")
    }

    private func read(_ raw: Int32) throws(Fault) -> ArraySlice<UInt8> {
        var octets = [UInt8](repeating: 0, count: Self.largest + 1)
        // SAFETY: pread writes at most the octets of the buffer, which lives during the call.
        let count = unsafe octets.withUnsafeMutableBytes {
            unsafe pread(raw, $0.baseAddress, $0.count, 0)
        }
        guard count >= 0 else { throw .failed("cannot read \(path): \(errorText(errno))") }
        return octets[..<count]
    }
}
