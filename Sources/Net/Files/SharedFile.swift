// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Small text file that several processes change under flock(2).
///
/// - One `pwrite` replaces the content. So content of at most one memory page is never a mixture of
///   old and new content.
/// - If the new content is shorter, line feeds pad it to the old size. `ftruncate` is not used: the
///   process could be killed between `pwrite` and `ftruncate`.
/// - If the new content is longer, line feeds first extend the file. So the old content remains if
///   the disk is full.
/// - A new file gets its content before its name. So an empty file is a damaged file.
// SAFETY: the system calls use paths as C strings, and buffers and structures with their sizes.
@safe
package final class SharedFile: Sendable {
    package let path: String

    private let initial: [UInt8]

    private let thread: FileThread

    // SAFETY: used only by accesses that `thread` runs, one at a time.
    private nonisolated(unsafe) var file: OwnedDescriptor?

    package enum Fault: Error {
        /// If `isObstructed`, the path exists, and is not a regular file.
        case unavailable(String, isObstructed: Bool = false)

        case failed(String)

        /// For example because the disk is full.
        case unwritten(String)
    }

    package static let largest = 64 << 10

    private static let padding = UInt8(ascii: "\n")

    /// Maximum wait for the lock; a killed process holds the lock until its memory is freed.
    private static let patience = Duration.milliseconds(20)

    /// Time after a failed wait for the lock; in this time, all changes fail immediately.
    private static let pause = Duration.seconds(1)

    // SAFETY: used only by accesses that `thread` runs, one at a time.
    private nonisolated(unsafe) var lockedUntil: Instant?

    private let now: @Sendable () -> Instant

    /// Creates the file (mode 0600) and its directory (0700) at first use.
    package init(
        _ path: String,
        initial: [UInt8],
        thread: FileThread = .shared,
        now: @escaping @Sendable () -> Instant = { Clock.now }
    ) {
        self.path = path
        self.initial = initial
        self.thread = thread
        self.now = now
    }

    /// Runs `change` on the file thread, and returns `value`.
    ///
    /// If `content` is not nil, it replaces the content of the file.
    ///
    /// - Throws: `failed` if the file system does not respond; the file may still be changed later.
    @ServiceLoop
    package func change<Value: Sendable>(
        _ change: @escaping @Sendable (ArraySlice<UInt8>) -> (content: [UInt8]?, value: Value)
    ) throws(Fault) -> Value {
        let result = thread.run { [self] in
            Result { () throws(Fault) in try changeNow(change) }
        }
        guard let result else {
            throw .failed("the file system of \(path) does not respond")
        }
        return try result.get()
    }

    private func changeNow<Value>(
        _ change: (ArraySlice<UInt8>) -> (content: [UInt8]?, value: Value)
    ) throws(Fault) -> Value {
        let raw = try open()
        try lock(raw)
        defer { flock(raw, LOCK_UN) }
        let old = try read(raw)
        let (content, value) = change(old)
        guard var octets = content else { return value }
        let added = octets.count - old.count
        if added > 0 {
            try write([UInt8](repeating: Self.padding, count: added), to: raw, at: old.count)
        } else {
            octets += repeatElement(Self.padding, count: -added)
        }
        try write(octets, to: raw)
        return value
    }

    private func open() throws(Fault) -> Int32 {
        if let raw = unsafe file?.raw {
            var (own, current) = (stat(), stat())
            if unsafe fstat(raw, &own) == 0, unsafe lstat(path, &current) == 0,
                own.st_dev == current.st_dev, own.st_ino == current.st_ino
            {
                return raw
            }
            unsafe file = nil
        }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw .unavailable("cannot create \(directory): \(errorText(errno))")
        }
        var status = stat()
        let exists = unsafe lstat(path, &status) == 0
        guard !exists || status.st_mode & S_IFMT == S_IFREG else {
            throw .unavailable("\(path) is not a regular file", isObstructed: true)
        }
        let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
        var raw = unsafe Glibc.open(path, flags)
        if raw < 0, errno == ENOENT {
            try create()
            raw = unsafe Glibc.open(path, flags)
        }
        guard raw >= 0 else { throw .unavailable("cannot open \(path): \(errorText(errno))") }
        unsafe file = OwnedDescriptor(taking: raw)
        return raw
    }

    /// `rename` instead of `link` would replace the file of another process.
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

    private func write(
        _ octets: [UInt8],
        to raw: Int32,
        at offset: Int = 0
    ) throws(Fault) {
        let count = unsafe octets.withUnsafeBytes {
            unsafe pwrite(raw, $0.baseAddress, $0.count, offset)
        }
        guard count == octets.count else {
            throw .unwritten("cannot write \(path): \(errorText(count < 0 ? errno : ENOSPC))")
        }
    }

    private func lock(_ raw: Int32) throws(Fault) {
        let start = now()
        if unsafe start >= lockedUntil ?? start {
            unsafe lockedUntil = nil
            repeat {
                if flock(raw, LOCK_EX | LOCK_NB) == 0 { return }
                sched_yield()
            } while now() < start + Self.patience
            unsafe lockedUntil = now() + Self.pause
        }
        throw .failed("another process holds the lock of \(path)")
    }

    private func read(_ raw: Int32) throws(Fault) -> ArraySlice<UInt8> {
        var count = 0
        let octets = unsafe [UInt8](unsafeUninitializedCapacity: Self.largest + 1) {
            count = unsafe pread(raw, $0.baseAddress, $0.count, 0)
            $1 = max(0, count)
        }
        guard count >= 0 else { throw .failed("cannot read \(path): \(errorText(errno))") }
        return octets[...]
    }
}
