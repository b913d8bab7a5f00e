// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Lock that gives one process the exclusive use of a file.
///
/// The lock is on the file `path` + `.lock`, because a lock on `path` would be lost when another
/// file replaces `path`. The lock file is never removed.
// SAFETY: the system calls use the name as a C string, and buffers with their sizes.
package final class FileLock: Sendable {
    private let file: OwnedDescriptor

    /// Locks `path` until this object is released; can block on the disk.
    ///
    /// - Throws: `FileFault.used` if another process holds the lock, otherwise `.system`.
    package init(of path: String) throws(FileFault) {
        let name = path + ".lock"
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let raw = unsafe open(name, flags, 0o600)
        guard raw >= 0 else { throw .last("open", name) }
        file = OwnedDescriptor(taking: raw)
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .last("flock", name) }
            throw .used(path, process: Self.process(in: raw))
        }
        let text = Array("\(getpid())\n".utf8)
        // Errors are ignored, because the process ID is for messages only.
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(raw, $0.baseAddress, $0.count, 0) }
        _ = ftruncate(raw, off_t(text.count))
    }

    private static func process(in raw: Int32) -> Int32? {
        var octets = [UInt8](repeating: 0, count: 16)
        let count = unsafe octets.withUnsafeMutableBytes {
            unsafe pread(raw, $0.baseAddress, $0.count, 0)
        }
        let digits = octets.prefix(max(0, count)).prefix { (0x30...0x39).contains($0) }
        return Int32(String(decoding: digits, as: UTF8.self))
    }
}
