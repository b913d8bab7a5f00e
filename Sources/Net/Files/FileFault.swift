// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// Why a file could not be read or replaced; the path is the one that has the fault.
package enum FileFault: Error, Hashable {
    /// A system call failed with this `errno`.
    case system(call: String, path: String, code: Int32)

    /// A symbolic link, which may lead to a file of somebody else's.
    case symbolicLink(String)

    /// A directory, a device or a pipe.
    case notRegular(String)

    /// It belongs to another user.
    case foreign(String, owner: uid_t)

    /// Users other than the owner may do something with it.
    case open(String, mode: mode_t)

    /// Another process is writing it.
    case busy(String)

    /// Whoever reads or writes it does not want the rest any more.
    case stopped(String)

    /// What `call` has just left in `errno`.
    static func last(_ call: String, _ path: String) -> FileFault {
        .system(call: call, path: path, code: errno)
    }

    /// The `errno` of a system call; nil for other faults.
    package var code: Int32? {
        if case .system(_, _, let code) = self { code } else { nil }
    }
}

extension FileFault: CustomStringConvertible {
    /// The path and the fault, as in `/var/x: open: Permission denied`.
    package var description: String {
        switch self {
        case .system(let call, let path, let code): "\(path): \(call): \(errorText(code))"
        case .symbolicLink(let path): "\(path) is a symbolic link"
        case .notRegular(let path): "\(path) is not a regular file"
        case .foreign(let path, let owner): "\(path) belongs to user \(owner), not to this one"
        case .open(let path, let mode):
            "\(path) is open to other users (mode 0\(String(mode, radix: 8)))"
        case .busy(let path): "\(path) is being written by another process"
        case .stopped(let path): "\(path): stopped"
        }
    }
}
