// SPDX-License-Identifier: Apache-2.0
package import Glibc

package enum FileFault: Error, Hashable {
    case system(call: String, path: String, code: Int32)

    case symbolicLink(String)

    case notRegular(String)

    case foreign(String, owner: uid_t)

    case open(String, mode: mode_t)

    case busy(String)

    /// `process` is the process ID of the holder of the lock, or nil if unknown.
    case used(String, process: Int32?)

    case stopped(String)

    var isAbsence: Bool {
        guard case .system(_, _, let code) = self else { return false }
        return code == ENOENT || code == ENOTDIR
    }

    static func last(_ call: String, _ path: String) -> FileFault {
        .system(call: call, path: path, code: errno)
    }
}

extension FileFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let call, let path, let code): "\(path): \(call): \(errorText(code))"
        case .symbolicLink(let path): "\(path) is a symbolic link"
        case .notRegular(let path): "\(path) is not a regular file"
        case .foreign(let path, let owner):
            "\(path) belongs to user \(owner), not to the daemon's user"
        case .open(let path, let mode):
            "\(path) is open to other users (mode 0\(String(mode, radix: 8)))"
        case .busy(let path): "\(path) is being written by another process"
        case .used(let path, let process):
            "\(path) is used by another daemon" + (process.map { " (process \($0))" } ?? "")
        case .stopped(let path): "\(path): interrupted, because the daemon stops"
        }
    }
}
