// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Atomic changes by rename(2) and fsync(2).
extension FileTree {
    private static let temporary = ".httpdnsctl-new"

    func put(_ state: FileState, at path: String) throws(Failure) {
        precondition(state.kind != .other, "only files and links can be written")
        let place = try place(path)
        guard state.kind != .absent else {
            // SAFETY: unlink(2) reads a C string that lives during the call.
            guard unsafe unlink(place) == 0 || errno == ENOENT else {
                throw Self.fault("remove", path, errno)
            }
            return try syncDirectory(of: path)
        }
        let beside = place + Self.temporary
        try removeLeftover(of: path)
        do throws(Failure) {
            if state.kind == .link {
                try makeLink(state, at: beside, for: path)
            } else {
                try makeFile(state, at: beside, for: path)
            }
            // SAFETY: rename(2) reads two C strings that live during the call.
            guard unsafe rename(beside, place) == 0 else {
                throw Self.fault("replace", path, errno)
            }
        } catch {
            // SAFETY: unlink(2) reads a C string that lives during the call.
            _ = unsafe unlink(beside)
            throw error
        }
        try syncDirectory(of: path)
    }

    func hasLeftover(of path: String) -> Bool {
        status(path + Self.temporary, follows: false) != nil
    }

    func removeLeftover(of path: String) throws(Failure) {
        // SAFETY: unlink(2) reads a C string that lives during the call.
        let leftover = try place(path) + Self.temporary
        guard unsafe unlink(leftover) != 0, errno != ENOENT, errno != ENOTDIR else { return }
        let number = errno
        // On a read-only file system, unlink(2) fails with EROFS even for a missing file.
        guard exists(path + Self.temporary) else { return }
        throw Self.fault("remove", path + Self.temporary, number)
    }

    func checkWritable(_ path: String) throws(Failure) {
        var directory = Self.directory(of: path)
        while directory != "/", !exists(directory) { directory = Self.directory(of: directory) }
        let real = try resolve(directory, followsLast: true)
        // SAFETY: access(2) reads a C string that lives during the call.
        guard unsafe access(root + real, W_OK) != 0 else { return }
        throw Self.fault("change", path, errno)
    }

    func makeDirectories(for path: String) throws(Failure) -> [String] {
        let missing = missingDirectories(for: path)
        // Replaces the user's umask: with a umask such as 077, services could not read the files.
        let mask = umask(0o022)
        defer { umask(mask) }
        for directory in missing {
            // SAFETY: mkdir(2) reads a C string that lives during the call.
            guard unsafe mkdir(try place(directory), 0o755) == 0 || errno == EEXIST else {
                throw Self.fault("create", directory, errno)
            }
            try syncDirectory(of: directory)
        }
        return missing
    }

    func missingDirectories(for path: String) -> [String] {
        var missing: [String] = []
        var directory = Self.directory(of: path)
        while directory != "/", !exists(directory) {
            missing.insert(directory, at: 0)
            directory = Self.directory(of: directory)
        }
        return missing
    }

    func removeDirectory(_ path: String) throws(Failure) {
        // SAFETY: rmdir(2) reads a C string that lives during the call.
        guard unsafe rmdir(try place(path)) != 0 else { return try syncDirectory(of: path) }
        guard [ENOENT, ENOTEMPTY, EEXIST].contains(errno) else {
            throw Self.fault("remove", path, errno)
        }
    }

    /// Runs `body` with a lock on `directory`, which is created if absent.
    ///
    /// - Throws: if another run of this program has the lock.
    @discardableResult
    func locked<Value>(
        _ directory: String,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        while true {
            _ = try makeDirectories(for: directory + "/.")
            let descriptor = try openDirectory(directory)
            defer {
                // Unlocks before close: a new child process has a copy of the descriptor until
                // exec, and this copy would keep the lock.
                flock(descriptor, LOCK_UN)
                close(descriptor)
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw Failure(message: "another httpdnsctl setup is running")
            }
            // Another run may have removed the directory before this run got the lock.
            if isPresent(descriptor, at: directory) { return try body() }
        }
    }

    private func isPresent(_ descriptor: Int32, at path: String) -> Bool {
        var own = stat()
        // SAFETY: fstat(2) fills `own`.
        guard unsafe fstat(descriptor, &own) == 0, let now = status(path, follows: true) else {
            return false
        }
        return (own.st_dev, own.st_ino) == (now.st_dev, now.st_ino)
    }

    // MARK: - Steps

    private func makeLink(_ state: FileState, at place: String, for path: String) throws(Failure) {
        // SAFETY: symlink(2) and lchown(2) read C strings that live during the calls.
        guard unsafe symlink(state.target, place) == 0,
            unsafe lchown(place, state.user, state.group) == 0
        else { throw Self.fault("write", path, errno) }
    }

    private func makeFile(_ state: FileState, at place: String, for path: String) throws(Failure) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        // SAFETY: open(2) reads a C string that lives during the call.
        let descriptor = unsafe open(place, flags, 0o600)
        guard descriptor >= 0 else { throw Self.fault("write", path, errno) }
        defer { close(descriptor) }
        if let error = writeAll(state.octets, to: descriptor) {
            throw Self.fault("write", path, error)
        }
        guard fchown(descriptor, state.user, state.group) == 0,
            fchmod(descriptor, state.mode) == 0
        else { throw Self.fault("set the owner and mode of", path, errno) }
        if let modified = state.modified {
            let time = timespec(tv_sec: modified.seconds, tv_nsec: modified.nanoseconds)
            // SAFETY: futimens(2) reads two times from an array of two.
            guard unsafe futimens(descriptor, [time, time]) == 0 else {
                throw Self.fault("set the time of", path, errno)
            }
        }
        guard fsync(descriptor) == 0 else { throw Self.fault("write", path, errno) }
    }

    private func syncDirectory(of path: String) throws(Failure) {
        let directory = Self.directory(of: path)
        let descriptor = try openDirectory(directory)
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw Self.fault("write", directory, errno)
        }
    }

    private func openDirectory(_ path: String) throws(Failure) -> Int32 {
        let real = try resolve(path, followsLast: true)
        // SAFETY: open(2) reads a C string that lives during the call.
        let descriptor = unsafe open(
            root + (real == "/" && !root.isEmpty ? "" : real),
            O_RDONLY | O_DIRECTORY | O_CLOEXEC
        )
        guard descriptor >= 0 else { throw Self.fault("open", path, errno) }
        return descriptor
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
