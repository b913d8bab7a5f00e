// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Why a socket, a listener or the loop itself could not do what it was asked.
package enum SocketError: Error, Hashable {
    /// The deadline passed first.
    case timedOut

    /// The waiting task was cancelled.
    case cancelled

    /// The socket was closed at this end, perhaps while somebody waited on it.
    case closed

    /// What came over the connection cannot be: an encrypted one was tampered with.
    case broken(String)

    /// Another process listens at this path already.
    case pathInUse(String)

    /// A file that is no socket has this path.
    case notSocket(String)

    /// A path that does not fit a Unix socket's address (107 octets).
    case pathTooLong(String)

    /// A socket from systemd that is of no use, by its name, and why.
    case unusable(name: String, why: String)

    /// A system call failed: its name and `errno`.
    case system(call: String, code: Int32)

    /// The error that `call` has just left in `errno`.
    static func last(_ call: String) -> SocketError { .system(call: call, code: errno) }

    /// Whether somebody else has the address.
    package var isAddressInUse: Bool {
        if case .system(_, EADDRINUSE) = self { true } else { false }
    }

    /// Whether this machine does not have the address, or its whole family.
    package var isAddressMissing: Bool {
        switch self {
        case .system(_, EADDRNOTAVAIL), .system(_, EAFNOSUPPORT): true
        default: false
        }
    }

    /// Whether this process may not do it.
    package var isForbidden: Bool {
        switch self {
        case .system(_, EACCES), .system(_, EPERM): true
        default: false
        }
    }

    /// Whether descriptors or memory of this machine are used up.
    package var isShortage: Bool {
        guard case .system(_, let code) = self else { return false }
        return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code)
    }

    /// Whether the other end is there and refuses: no process has the port.
    package var isRefusal: Bool {
        if case .system(_, ECONNREFUSED) = self { true } else { false }
    }
}

extension SocketError: CustomStringConvertible {
    /// The fault in a few words, as in `connect: Connection refused`.
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .broken(let why): why
        case .pathInUse(let path): "\(path): another process listens there already"
        case .notSocket(let path):
            "\(path): a file that is not a socket is there; remove it, or choose another path"
        case .pathTooLong(let path): "\(path): too long for a socket's path"
        case .unusable(let name, let why): "the socket `\(name)` from systemd \(why)"
        case .system(let call, let code): "\(call): \(errorText(code))"
        }
    }
}

/// The system's words for `code`.
func errorText(_ code: Int32) -> String {
    // SAFETY: strerror returns a text that ends with NUL; glibc keeps it per thread (since 2.32)
    // and it is copied at once.
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
