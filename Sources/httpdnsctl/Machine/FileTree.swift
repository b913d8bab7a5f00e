// SPDX-License-Identifier: Apache-2.0
import Glibc

/// File system of this machine, or of a machine image in a directory.
///
/// In an image, absolute paths and link targets begin in the directory of the image; `..` cannot
/// lead out of this directory.
struct FileTree: Sendable {
    /// Without a final slash; empty if the tree is this machine.
    let root: String

    static let maximumOctets = 1 << 20

    private static let maximumLinks = 40

    init(root: String = "/") {
        var root = root
        while root.hasSuffix("/") { root.removeLast() }
        self.root = root
    }

    var isThisMachine: Bool { root.isEmpty }

    // MARK: - Names

    /// Resolves the symbolic links in a path.
    ///
    /// - Throws: if the path has too many links.
    func resolve(_ path: String, followsLast: Bool) throws(Failure) -> String {
        var rest = Array(path.split(separator: "/").map(String.init).reversed())
        var done: [String] = []
        var links = 0
        while let name = rest.popLast() {
            switch name {
            case ".": continue
            case "..": _ = done.popLast()
            default:
                let here = "/" + (done + [name]).joined(separator: "/")
                guard followsLast || !rest.isEmpty, let target = readLink(here) else {
                    done.append(name)
                    continue
                }
                links += 1
                guard links <= Self.maximumLinks else {
                    throw Failure(message: "too many symbolic links in \(path)")
                }
                if target.hasPrefix("/") { done = [] }
                rest += target.split(separator: "/").map(String.init).reversed()
            }
        }
        return "/" + done.joined(separator: "/")
    }

    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : (FileTree().readLink("/proc/self/cwd") ?? "") + "/" + path
    }

    /// Returns the path for system calls, with all links resolved except in the last component.
    func place(_ path: String) throws(Failure) -> String {
        root + (try resolve(path, followsLast: false))
    }

    func readLink(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: readlink(2) writes at most the given count, and returns the number of octets.
        let count = unsafe readlink(root + path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: - Reading

    func exists(_ path: String) -> Bool { status(path, follows: true) != nil }

    func status(_ path: String, follows: Bool) -> stat? {
        guard let real = try? resolve(path, followsLast: follows) else { return nil }
        var status = stat()
        // SAFETY: lstat(2) fills `status`.
        return unsafe lstat(root + real, &status) == 0 ? status : nil
    }

    /// Returns the state of a path without following a final link.
    ///
    /// - Throws: if the path is inaccessible, or the file exceeds `maximumOctets`.
    func state(_ path: String) throws(Failure) -> FileState {
        let place = try place(path)
        var status = stat()
        // SAFETY: lstat(2) fills `status`.
        guard unsafe lstat(place, &status) == 0 else {
            let number = errno
            guard number == ENOENT || number == ENOTDIR else {
                throw Self.fault("access", path, number)
            }
            return .absent
        }
        var state = FileState(kind: .other)
        state.user = status.st_uid
        state.group = status.st_gid
        state.modified = FileState.Moment(
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            state.kind = .file
            state.mode = status.st_mode & 0o7777
            state.octets = try octets(path)
        case S_IFLNK:
            state.kind = .link
            let real = try resolve(path, followsLast: false)
            guard let target = readLink(real) else { throw Self.fault("read", path, errno) }
            state.target = target
        default: break
        }
        return state
    }

    func text(_ path: String) -> String? {
        (try? octets(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func octets(_ path: String) throws(Failure) -> [UInt8] {
        let real = try resolve(path, followsLast: true)
        // SAFETY: open(2) reads a C string that lives during the call.
        let descriptor = unsafe open(root + real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.fault("open", path, errno) }
        defer { close(descriptor) }
        let (octets, error) = readAll(descriptor, limit: Self.maximumOctets)
        guard error == 0 else { throw Self.fault("read", path, error) }
        guard octets.count <= Self.maximumOctets else {
            throw Failure(message: "\(path) is larger than \(Self.maximumOctets >> 10) KiB")
        }
        return octets
    }

    func names(in path: String) -> [String] {
        guard let real = try? resolve(path, followsLast: true),
            // SAFETY: opendir(3) returns a stream or nil; the stream is closed below.
            let directory = unsafe opendir(root + real)
        else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        // SAFETY: the name of an entry, a C string, is copied before the next readdir(3).
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns true if a file is immutable (`chattr +i`): even root cannot change the file.
    func isImmutable(_ path: String) -> Bool {
        guard let real = try? resolve(path, followsLast: true) else { return false }
        // SAFETY: open(2) reads a C string that lives during the call.
        let descriptor = unsafe open(root + real, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var flags = 0
        // 0x8008_6601 is FS_IOC_GETFLAGS of 64-bit systems; 0x10 is FS_IMMUTABLE_FL.
        // SAFETY: the kernel writes an int, which fits into `flags`.
        guard unsafe ioctl(descriptor, 0x8008_6601, &flags) == 0 else { return false }
        return flags & 0x10 != 0
    }

    static func fault(_ verb: String, _ path: String, _ number: Int32) -> Failure {
        let hint: String? =
            switch number {
            case EACCES,
                EPERM where getuid() != 0:
                "use sudo"
            case EPERM: "check if the file is immutable: lsattr \(path)"
            case EBUSY: "the file is a mount point (usual in containers): change it on the host"
            case EROFS: "make the file system writable (mount -o remount,rw), or change the image"
            default: nil
            }
        return Failure(message: "cannot \(verb) \(path): \(systemMessage(number))", hint: hint)
    }
}
