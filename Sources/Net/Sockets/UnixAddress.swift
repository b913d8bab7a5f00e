// SPDX-License-Identifier: Apache-2.0
private import Glibc

// SAFETY: the path and its NUL fit, as `init` checked; pointers are valid during the calls.
struct UnixAddress {
    let path: String

    static let maximumOctets = 107

    /// Throws if `path` is too long, is empty or contains NUL.
    init(_ path: String) throws(SocketError) {
        guard (1...Self.maximumOctets).contains(path.utf8.count), !path.utf8.contains(0) else {
            throw .pathTooLong(path)
        }
        self.path = path
    }

    /// Returns 0 or an `errno`.
    func connect(_ descriptor: Int32) -> Int32 {
        unsafe withSockaddr { unsafe Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    func bind(_ descriptor: Int32) -> Int32 {
        unsafe withSockaddr { unsafe Glibc.bind(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    private func withSockaddr(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
