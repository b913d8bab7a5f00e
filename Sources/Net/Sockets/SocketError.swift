// SPDX-License-Identifier: Apache-2.0
private import Glibc

package enum SocketError: Error, Hashable {
    case timedOut

    case cancelled

    case closed

    case broken(String)

    case pathInUse(String)

    case notSocket(String)

    case pathTooLong(String)

    case unusable(name: String, why: String)

    /// All local ports are in use for the address and port of the peer.
    case noPort

    case system(call: String, code: Int32)

    static func last(_ call: String) -> SocketError { .system(call: call, code: errno) }

    var code: Int32 { if case .system(_, let code) = self { code } else { 0 } }

    package var isAddressInUse: Bool {
        if case .system(_, EADDRINUSE) = self { true } else { false }
    }

    package var isAddressMissing: Bool {
        switch self {
        case .system(_, EADDRNOTAVAIL), .system(_, EAFNOSUPPORT): true
        default: isInterfaceMissing
        }
    }

    /// With IP_FREEBIND, bind(2) fails if the interface is missing; a missing address is no error.
    package var isInterfaceMissing: Bool {
        if case .system("bind", ENODEV) = self { true } else { false }
    }

    package var isUnreachable: Bool {
        switch self {
        case .system(_, ENETUNREACH), .system(_, EHOSTUNREACH): true
        default: false
        }
    }

    package var isReset: Bool {
        switch self {
        case .system(_, ECONNRESET), .system(_, EPIPE): true
        default: false
        }
    }

    package var isForbidden: Bool {
        switch self {
        case .system(_, EACCES), .system(_, EPERM): true
        default: false
        }
    }

    static func isNoPort(_ code: Int32, to peer: SocketAddress?) -> Bool {
        // EADDRNOTAVAIL can also mean that this machine has no address of the peer's family.
        guard code == EADDRNOTAVAIL, let peer else { return false }
        return SocketAddress.source(towards: peer) != nil
    }

    package var isShortage: Bool {
        guard case .system(_, let code) = self else { return self == .noPort }
        return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code)
    }
}

extension SocketError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .broken(let why): why
        case .pathInUse(let path): "\(path): another process listens there"
        case .notSocket(let path):
            "\(path): not a socket; remove the file or choose another path"
        case .pathTooLong(let path): "\(path): the path of a Unix socket must have 1 to 107 octets"
        case .noPort: "connect: no free local port"
        case .unusable(let name, let why): "the socket `\(name)` from systemd \(why)"
        case .system(let call, let code): "\(call): \(errorText(code))"
        }
    }
}

func errorText(_ code: Int32) -> String {
    // SAFETY: the text ends with NUL; glibc keeps it per thread.
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
}
