// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Socket on 127.0.0.1, independent of the daemon's code; calls fail after 10 s.
final class Socket: Sendable {
    enum Kind: Sendable {
        case datagram, stream
    }

    let descriptor: Int32

    private let title: String

    init(_ kind: Kind, bound: Bool = false, port: UInt16 = 0) throws {
        title = "\(kind)"
        let type = kind == .datagram ? SOCK_DGRAM : SOCK_STREAM
        descriptor = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var time = timeval(tv_sec: 10, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
        if bound { try check("bind", Self.with(port) { bind(descriptor, $0, $1) }) }
    }

    init(datagramAt host: UInt32, port: UInt16) throws {
        title = "datagram"
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, type, 0)
        try check("bind", Self.with(port, of: host) { bind(descriptor, $0, $1) })
    }

    /// Binds a port that other sockets can share, as with ReusePort=yes in a socket unit.
    init(sharing port: UInt16) throws {
        title = "shared datagram"
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, type, 0)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size))
        try check("bind", Self.with(port) { bind(descriptor, $0, $1) })
    }

    convenience init(_ kind: Kind, to port: UInt16) throws {
        try self.init(kind)
        try check("connect", Self.with(port) { connect(descriptor, $0, $1) })
    }

    convenience init(_ kind: Kind, receiving buffer: Int32, to port: UInt16) throws {
        try self.init(kind)
        var buffer = buffer
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        try check("connect", Self.with(port) { connect(descriptor, $0, $1) })
    }

    init(unixPath path: String) throws {
        title = "Unix stream"
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try check("connect", result)
    }

    deinit { close(descriptor) }

    /// Listens without accepting: connections stay queued.
    func listen() throws { try check("listen", Glibc.listen(descriptor, 128)) }

    func waitingConnections() -> Int {
        var count = 0
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return count }
            close(connection)
            count += 1
        }
    }

    var port: UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    func send(_ octets: [UInt8]) throws {
        var sent = 0
        repeat {
            let count = octets.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor,
                    buffer.baseAddress.map { $0 + sent },
                    octets.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
            }
            try check("send", Int32(clamping: count))
            sent += count
        } while sent < octets.count
    }

    func receive(upTo limit: Int = 65_535) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        try check("recv", Int32(clamping: count))
        return Array(buffer[..<count])
    }

    var isSilent: Bool {
        var octet: UInt8 = 0
        return recv(descriptor, &octet, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) < 0
    }

    func serveOne(_ reply: ([UInt8]) -> [UInt8]) throws -> [UInt8] { try serveOne { [reply($0)] } }

    func receiveWithPort() throws -> (octets: [UInt8], port: UInt16) {
        var buffer = [UInt8](repeating: 0, count: 65_535)
        var from = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &from) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, 0, $0, &size)
            }
        }
        try check("recvfrom", Int32(clamping: count))
        return (Array(buffer[..<count]), UInt16(bigEndian: from.sin_port))
    }

    func send(_ octets: [UInt8], to port: UInt16) throws {
        let sent = Self.with(port) { sendto(descriptor, octets, octets.count, 0, $0, $1) }
        try check("sendto", Int32(clamping: sent))
    }

    /// Answers one query with `replies`, and returns the query.
    func serveOne(_ replies: ([UInt8]) -> [[UInt8]]) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_535)
        var from = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let count = withUnsafeMutablePointer(to: &from) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, 0, $0, &size)
            }
        }
        try check("recvfrom", Int32(clamping: count))
        let query = Array(buffer[..<count])
        let isProbe = count > 12 && query[12] == 0
        for octets in isProbe ? [RawMessage.denial(of: query)] : replies(query) {
            let sent = withUnsafePointer(to: &from) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, octets, octets.count, 0, $0, size)
                }
            }
            try check("sendto", Int32(clamping: sent))
        }
        return isProbe ? try serveOne(replies) : query
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func resetAtEnd() {
        var time = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &time, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends messages in one segment, each with its length prefix (RFC 7766 §8).
    func sendFramed(_ messages: [[UInt8]]) throws {
        try send(messages.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 })
    }

    func receiveFramed() throws -> [UInt8] {
        let length = try receiveExactly(2)
        return try receiveExactly(Int(length[0]) << 8 | Int(length[1]))
    }

    private func receiveExactly(_ count: Int) throws -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count {
            let more = try receive(upTo: count - octets.count)
            guard !more.isEmpty else {
                throw Child.Failure(description: "the stream ended after \(octets.count) octets")
            }
            octets += more
        }
        return octets
    }

    private func check(_ call: String, _ result: Int32) throws {
        guard result < 0 else { return }
        throw Child.Failure(description: "\(title): \(call): \(String(cString: strerror(errno)))")
    }

    private static func with<Result>(
        _ port: UInt16,
        of host: UInt32 = 0x7F00_0001,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(host).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
