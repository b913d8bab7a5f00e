// SPDX-License-Identifier: Apache-2.0
package import Glibc

package struct RegularFile: ~Copyable {
    private let descriptor: CInt
    package let mode: mode_t

    /// Does not block on a pipe.
    package init(_ path: String) throws(FileError) {
        // SAFETY: open reads a C string that lives during the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .system(errno) }
        var status = stat()
        // SAFETY: fstat fills `status`.
        guard unsafe fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw .system(code)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .notRegular(FileError.Kind(status.st_mode))
        }
        self.descriptor = descriptor
        mode = status.st_mode & 0o7777
    }

    deinit { close(descriptor) }

    /// Returns nil if `path` is a readable regular file.
    package static func fault(of path: String) -> FileError? {
        do throws(FileError) {
            _ = try RegularFile(path)
            return nil
        } catch {
            return error
        }
    }

    /// Reads the content, which can be a secret; wipes the read buffer.
    ///
    /// - Parameter cuts: what to do with a file longer than `limit`: true to return its beginning
    ///   (a little more than `limit` octets), false to throw an error.
    package func read(atMost limit: Int, cuts: Bool = false) throws(FileError) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(min(limit, 16_384))
        var chunk = [UInt8](repeating: 0, count: 16_384)
        defer { chunk.wipe() }
        while true {
            // SAFETY: read(2) stores at most `chunk.count` octets in `chunk`.
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system(errno) }
            if count == 0 { return octets }
            octets += chunk[..<count]
            guard octets.count > limit else { continue }
            if cuts { return octets }
            throw .tooLong(limit: limit)
        }
    }
}

package enum FileError: Error, Hashable {
    package var isAbsence: Bool { self == .system(ENOENT) || self == .system(ENOTDIR) }

    case system(CInt)
    case notRegular(Kind)

    case openToTheWorld

    case tooLong(limit: Int)
    case tooMany(limit: Int)

    package enum Kind: Hashable {
        case directory, pipe, other

        init(_ mode: mode_t) {
            switch mode & S_IFMT {
            case S_IFDIR: self = .directory
            case S_IFIFO: self = .pipe
            default: self = .other
            }
        }
    }

    package var reason: String {
        switch self {
        case .system(let code):
            // SAFETY: strerror returns a C string for any number.
            "cannot be read: "
                + (unsafe strerror(code).map { unsafe String(cString: $0) } ?? "\(code)")
        case .notRegular(.directory): "is a directory, not a file"
        case .notRegular(.pipe):
            "is a pipe; use a regular file, because each reload reads the file again"
        case .notRegular(.other): "is not a regular file"
        case .openToTheWorld: "is accessible to all users of this machine"
        case .tooLong(let limit):
            "is longer than " + (limit >= 1 << 20 ? "\(limit >> 20) MiB" : "\(limit) octets")
        case .tooMany(let limit): "contains more than \(limit) drop-ins"
        }
    }
}

// MARK: - Wiping

extension [UInt8] {
    /// Overwrites and removes all octets; copies of the array are not overwritten.
    package mutating func wipe() {
        // SAFETY: base and count describe the array's storage, which is valid during the closure.
        unsafe withUnsafeMutableBytes { unsafe $0.wipe() }
        removeAll()
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Uses a function of libc, because OpenSSL is possibly not loaded.
    package func wipe() {
        // SAFETY: base and count describe the buffer.
        if let baseAddress { unsafe explicit_bzero(baseAddress, count) }
    }
}
