// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Small text file that several processes change under flock(2).
///
/// One `pwrite` replaces the content, so a killed process leaves the old or the new content of up
/// to one memory page. Line feeds pad a shorter text: a process can be killed before `ftruncate`. A
/// new file has content when it appears; an empty file is damaged.
// SAFETY: the system calls use paths as C strings, and buffers and structures with their sizes.
@ServiceLoop
package final class SharedFile {
    package let path: String

    private let initial: [UInt8]

    private var file: OwnedDescriptor?

    package enum Fault: Error {
        case unavailable(String)

        /// The file is locked, too large, unreadable or not writable.
        case failed(String)
    }

    /// Maximum octets of the content.
    package nonisolated static let largest = 64 << 10

    private nonisolated static let padding = UInt8(ascii: "\n")

    /// Maximum wait for the lock; a killed process holds the lock until its memory is freed.
    private nonisolated static let patience = Duration.milliseconds(20)

    /// Time after a failed wait for the lock in which further changes fail immediately.
    private nonisolated static let pause = Duration.seconds(1)

    /// End of this time; nil if the latest wait has succeeded.
    private var lockedUntil: Instant?

    /// Clock; tests replace it.
    var now: @ServiceLoop () -> Instant = { Clock.now }

    /// At first use, creates the file (mode 0600) with the content `initial`, and its directory
    /// (0700).
    package nonisolated init(_ path: String, initial: [UInt8]) {
        self.path = path
        self.initial = initial
    }

    /// Replaces the content by the result of `change`; nil leaves the content unchanged.
    package func change(_ change: (ArraySlice<UInt8>) -> [UInt8]?) throws(Fault) {
        let raw = try open()
        try lock(raw)
        defer { flock(raw, LOCK_UN) }
        let old = try read(raw)
        guard var octets = change(old) else { return }
        octets += repeatElement(Self.padding, count: max(0, old.count - octets.count))
        try write(octets, to: raw)
    }

    private func open() throws(Fault) -> Int32 {
        if let raw = file?.raw {
            var (own, current) = (stat(), stat())
            if unsafe fstat(raw, &own) == 0, unsafe lstat(path, &current) == 0,
                own.st_dev == current.st_dev, own.st_ino == current.st_ino
            {
                return raw
            }
            file = nil
        }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw .unavailable("cannot create \(directory): \(errorText(errno))")
        }
        let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
        var raw = unsafe Glibc.open(path, flags)
        if raw < 0, errno == ENOENT {
            try create()
            raw = unsafe Glibc.open(path, flags)
        }
        guard raw >= 0 else { throw .unavailable("cannot open \(path): \(errorText(errno))") }
        file = OwnedDescriptor(taking: raw)
        return raw
    }

    /// Creates the file unless another process creates it first.
    ///
    /// Unlike `rename`, `link` does not replace a file.
    private func create() throws(Fault) {
        let temporary = "\(path).\(UInt64.random(in: .min ... .max))"
        let raw = unsafe Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard raw >= 0 else { throw .unavailable("cannot create \(path): \(errorText(errno))") }
        let new = OwnedDescriptor(taking: raw)
        defer { _ = unsafe unlink(temporary) }
        try write(initial, to: new.raw)
        guard unsafe link(temporary, path) == 0 || errno == EEXIST else {
            throw .unavailable("cannot create \(path): \(errorText(errno))")
        }
    }

    private func write(_ octets: [UInt8], to raw: Int32) throws(Fault) {
        let count = unsafe octets.withUnsafeBytes {
            unsafe pwrite(raw, $0.baseAddress, $0.count, 0)
        }
        guard count == octets.count else {
            throw .failed("cannot write \(path): \(errorText(count < 0 ? errno : ENOSPC))")
        }
    }

    private func lock(_ raw: Int32) throws(Fault) {
        let start = now()
        if start >= lockedUntil ?? start {
            lockedUntil = nil
            repeat {
                if flock(raw, LOCK_EX | LOCK_NB) == 0 { return }
                sched_yield()
            } while now() < start + Self.patience
            lockedUntil = now() + Self.pause
        }
        throw .failed("another process holds the lock of \(path)")
    }

    private func read(_ raw: Int32) throws(Fault) -> ArraySlice<UInt8> {
        var octets = [UInt8](repeating: 0, count: Self.largest + 1)
        let count = unsafe octets.withUnsafeMutableBytes {
            unsafe pread(raw, $0.baseAddress, $0.count, 0)
        }
        guard count >= 0 else { throw .failed("cannot read \(path): \(errorText(errno))") }
        return octets[..<count]
    }
}
