// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The files of this machine, or of one that lies below a directory.
///
/// Below a directory links lead where they would lead on that machine: an absolute one begins at the
/// directory, and `..` does not leave it.
struct FileTree: Sendable {
    /// What stands before each path: nothing, or a directory without a slash at its end.
    let root: String

    /// The most octets that are read of a file: 1 MiB; the files of this trade have a few lines.
    static let maximumOctets = 1 << 20

    /// As many links in a row as the kernel follows.
    private static let maximumLinks = 40

    /// The tree below a directory; `/` is this machine.
    init(root: String = "/") {
        var root = root
        while root.hasSuffix("/") { root.removeLast() }
        self.root = root
    }

    /// Whether these are the files of this machine, whose services can be told of a change.
    var isThisMachine: Bool { root.isEmpty }

    // MARK: - Names

    /// The path with the links of its directories followed, and its own too if `followsLast`.
    ///
    /// - Throws: `Failure` if there are too many.
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
                    throw Failure(message: "too many links in \(path)", status: .failed)
                }
                if target.hasPrefix("/") { done = [] }
                rest += target.split(separator: "/").map(String.init).reversed()
            }
        }
        return "/" + done.joined(separator: "/")
    }

    /// The place of a path for system calls, its directories' links followed.
    func place(_ path: String) throws(Failure) -> String {
        root + (try resolve(path, followsLast: false))
    }

    /// Where a link leads, as it says; nil if it is none.
    func readLink(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        // SAFETY: readlink(2) writes at most the count it is given, and says how much it wrote.
        let count = unsafe readlink(root + path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: - Reading

    /// Whether there is something at the path, links followed.
    func exists(_ path: String) -> Bool { status(path, follows: true) != nil }

    /// What the system says about a path; nil if there is nothing, or it may not be seen.
    func status(_ path: String, follows: Bool) -> stat? {
        guard let real = try? resolve(path, followsLast: follows) else { return nil }
        var status = stat()
        // SAFETY: lstat(2) fills the one structure it is given.
        return unsafe lstat(root + real, &status) == 0 ? status : nil
    }

    /// What stands at a path, its own link not followed.
    ///
    /// - Throws: `Failure` if it cannot be known, or is more than `maximumOctets`.
    func state(_ path: String) throws(Failure) -> FileState {
        let place = try place(path)
        var status = stat()
        // SAFETY: lstat(2) fills the one structure it is given.
        guard unsafe lstat(place, &status) == 0 else {
            let number = errno
            guard number == ENOENT || number == ENOTDIR else {
                throw Self.fault("see", path, number)
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

    /// What is in a file, links followed; nil if it is not there or may not be read.
    func text(_ path: String) -> String? {
        (try? octets(path)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// What is in a file, links followed.
    private func octets(_ path: String) throws(Failure) -> [UInt8] {
        let real = try resolve(path, followsLast: true)
        // SAFETY: open(2) reads the path as a C string, which Swift makes for the call.
        let descriptor = unsafe open(root + real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.fault("open", path, errno) }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            // SAFETY: read(2) writes no more than the count of the buffer it is given.
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe read(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.fault("read", path, errno) }
            guard count > 0 else { return octets }
            octets += buffer[..<count]
            guard octets.count <= Self.maximumOctets else {
                throw Failure(message: "\(path) is too large", status: .failed)
            }
        }
    }

    /// The names in a directory, sorted; none if it cannot be read.
    func names(in path: String) -> [String] {
        guard let real = try? resolve(path, followsLast: true),
            // SAFETY: opendir(3) gives a stream or nil, and it is closed below.
            let directory = unsafe opendir(root + real)
        else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        // SAFETY: an entry is valid until the next call, and its name, a C string, is copied before.
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

    /// Whether `chattr +i` keeps a file from being changed, also by root.
    func isImmutable(_ path: String) -> Bool {
        guard let real = try? resolve(path, followsLast: true) else { return false }
        // SAFETY: open(2) reads the path as a C string, which Swift makes for the call.
        let descriptor = unsafe open(root + real, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var flags = 0
        // FS_IOC_GETFLAGS of 64-bit systems; what knows no flags says ENOTTY.
        // SAFETY: the kernel writes an int, for which there is room.
        guard unsafe ioctl(descriptor, 0x8008_6601, &flags) == 0 else { return false }
        return flags & 0x10 != 0
    }

    /// The failure of a call on a path.
    static func fault(_ verb: String, _ path: String, _ number: Int32) -> Failure {
        let hint: String? =
            switch number {
            case EACCES,
                EPERM where getuid() != 0:
                "use sudo"
            case EPERM: "is it immutable? lsattr \(path)"
            case EBUSY: "it is a mount point, as in containers: change it where it comes from"
            case EROFS: "the file system is read-only"
            default: nil
            }
        return Failure(
            message: "cannot \(verb) \(path): \(systemMessage(number))",
            hint: hint,
            status: .failed
        )
    }
}
