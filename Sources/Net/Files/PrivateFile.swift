// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// File that only the daemon's user can read, replaced atomically even at a power failure.
///
/// Rejects a file that is not regular, that another user owns, or that other users can access. All
/// functions can block.
// SAFETY: the system calls use names as C strings, and buffers and structures with their sizes.
package struct PrivateFile: Sendable {
    package let path: String

    private let directory: String
    private let name: String

    package init(_ path: String) {
        precondition(path.hasPrefix("/"), "a private file has an absolute path")
        self.path = path
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        directory = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[path.index(after: slash)...])
    }

    /// The name is fixed, so that killed processes leave at most one temporary file.
    package var temporaryPath: String { path + Self.temporary }

    package var damagedPath: String { path + Self.damaged }

    private static let temporary = ".tmp"
    private static let damaged = ".damaged"

    // MARK: - Reading

    package func open() throws(FileFault) -> PrivateFileReader? {
        let raw = unsafe Glibc.open(
            path,
            O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        )
        if raw < 0, errno == ENOENT { return nil }
        if raw < 0, errno == ELOOP { throw .symbolicLink(path) }
        let file = try Self.own(raw, "open", path)
        let status = try Self.status(file, path)
        try check(status)
        return PrivateFileReader(file, path: path, size: Int(status.st_size))
    }

    // MARK: - Changing

    /// Replaces the content with the chunks from `next`; returns the number of octets.
    ///
    /// `next` returns nil after the last chunk. After an error, the old file remains. Exception: if
    /// the sync of the directory fails, the new file is already in place.
    package func replace(
        by next: () throws(FileFault) -> [UInt8]?
    ) throws(FileFault) -> Int {
        let folder = try openDirectory()
        try checkTarget(in: folder)
        let file = try makeTemporary(in: folder)
        do throws(FileFault) {
            var written = 0
            while let octets = try next() {
                try write(octets, to: file)
                written += octets.count
            }
            guard fsync(file.raw) == 0 else { throw FileFault.last("fsync", temporaryPath) }
            guard unsafe renameat(folder.raw, name + Self.temporary, folder.raw, name) == 0 else {
                throw FileFault.last("rename", path)
            }
            try sync(folder)
            return written
        } catch {
            _ = unsafe unlinkat(folder.raw, name + Self.temporary, 0)
            throw error
        }
    }

    package func setAside() throws(FileFault) {
        let folder = try openDirectory()
        guard unsafe renameat(folder.raw, name, folder.raw, name + Self.damaged) == 0 else {
            throw .last("rename", path)
        }
    }

    /// Removes the temporary file that a killed process left.
    package func removeLeftover() throws(FileFault) {
        do throws(FileFault) {
            try removeTemporary(in: try openDirectory())
        } catch .busy {
            return
        } catch .system(_, _, ENOENT) {
            return
        }
    }

    // MARK: - Steps

    private func openDirectory() throws(FileFault) -> OwnedDescriptor {
        let raw = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        return try Self.own(raw, "open", directory)
    }

    private func makeTemporary(
        in folder: borrowing OwnedDescriptor
    ) throws(FileFault) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var raw = unsafe openat(folder.raw, name + Self.temporary, flags, 0o600)
        if raw < 0, errno == EEXIST {
            try removeTemporary(in: folder)
            raw = unsafe openat(folder.raw, name + Self.temporary, flags, 0o600)
        }
        let file = try Self.own(raw, "open", temporaryPath)
        guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else { throw .busy(temporaryPath) }
        return file
    }

    private func removeTemporary(in folder: borrowing OwnedDescriptor) throws(FileFault) {
        let temporary = name + Self.temporary
        let raw = unsafe openat(
            folder.raw,
            temporary,
            O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        )
        // `openat` fails for a symbolic link or an unreadable file. No daemon creates or locks such
        // a file, so the file is removed without a lock.
        if raw >= 0 {
            let file = try Self.own(raw, "open", temporaryPath)
            guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else { throw .busy(temporaryPath) }
        } else if errno == ENOENT {
            return
        }
        guard unsafe unlinkat(folder.raw, temporary, 0) == 0 else {
            throw .last("unlink", temporaryPath)
        }
    }

    private func write(
        _ octets: [UInt8],
        to file: borrowing OwnedDescriptor
    ) throws(FileFault) {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(file.raw, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last("write", temporaryPath) }
            rest = rest.dropFirst(count)
        }
    }

    /// EINVAL comes from file systems that cannot sync directories.
    private func sync(_ folder: borrowing OwnedDescriptor) throws(FileFault) {
        guard fsync(folder.raw) == 0 || errno == EINVAL else {
            throw .last("fsync", directory)
        }
    }

    // MARK: - Checks

    private func checkTarget(in folder: borrowing OwnedDescriptor) throws(FileFault) {
        var status = stat()
        if unsafe fstatat(folder.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            try check(status)
        } else if errno != ENOENT {
            throw .last("stat", path)
        }
    }

    private func check(_ status: stat) throws(FileFault) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw .symbolicLink(path)
        default: throw .notRegular(path)
        }
        guard status.st_uid == geteuid() else { throw .foreign(path, owner: status.st_uid) }
        let mode = status.st_mode & 0o7777
        guard mode & 0o077 == 0 else { throw .open(path, mode: mode) }
    }

    private static func status(
        _ file: borrowing OwnedDescriptor,
        _ path: String
    ) throws(FileFault) -> stat {
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else { throw .last("stat", path) }
        return status
    }

    private static func own(
        _ raw: Int32,
        _ call: String,
        _ path: String
    ) throws(FileFault) -> OwnedDescriptor {
        guard raw >= 0 else { throw .last(call, path) }
        return OwnedDescriptor(taking: raw)
    }
}

package struct PrivateFileReader: ~Copyable {
    /// Size in octets at the time when the file was opened.
    package let size: Int

    private let file: OwnedDescriptor
    private let path: String

    fileprivate init(_ file: consuming OwnedDescriptor, path: String, size: Int) {
        self.file = file
        self.path = path
        self.size = size
    }

    /// Returns at most `count` octets; empty at the end of the file.
    package func read(_ count: Int, at offset: Int) throws(FileFault) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        while true {
            // SAFETY: pread(2) stores at most `count` octets, the size of the array.
            let got = unsafe pread(file.raw, &octets, count, offset)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .last("read", path) }
            octets.removeSubrange(got...)
            return octets
        }
    }
}
