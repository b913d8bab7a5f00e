// SPDX-License-Identifier: Apache-2.0
import Control
import Glibc

struct ControlConnection: ~Copyable {
    private static let readOctets = 64 * 1024
    private let descriptor: Int32
    private let path: String
    var timeout: Duration? { didSet { deadline = timeout.map { .now.advanced(by: $0) } } }
    private var deadline: ContinuousClock.Instant?

    /// Function to call if no reply arrives in time; the wait ends if the function throws.
    var onSilence: (() throws(Failure) -> Void)?

    private var decoder = MessageDecoder(maximumOctets: ControlLimits.replyOctets)

    // MARK: - Making

    private init(descriptor: Int32, path: String, timeout: Duration) {
        self.descriptor = descriptor
        self.path = path
        self.timeout = timeout
        deadline = .now.advanced(by: timeout)
    }

    /// Connects to the control socket.
    ///
    /// - Parameter timeout: time limit for the first reply, including the connection. The same
    ///   limit applies to the wait for each further reply.
    /// - Throws: `usage` for an invalid path, otherwise `unreachable`.
    static func open(path: String, timeout: Duration) throws(Failure) -> ControlConnection {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard !path.isEmpty, path.utf8.count < capacity, !path.utf8.contains(0) else {
            throw Failure(
                message: "invalid socket path \"\(path)\": must have 1 to \(capacity - 1) octets",
                status: .usage
            )
        }
        address.sun_family = sa_family_t(AF_UNIX)
        // SAFETY: the path is shorter than `sun_path`; the rest of `sun_path` stays zero.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }

        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            throw Failure(
                message: "cannot create a socket: \(systemMessage(errno))",
                status: .unreachable
            )
        }
        let connection = ControlConnection(descriptor: descriptor, path: path, timeout: timeout)
        try connection.connect(to: &address, within: timeout)
        return connection
    }

    deinit { close(descriptor) }

    // MARK: - Talking

    mutating func exchange(_ call: Call) throws(Failure) -> Reply {
        try begin(call)
        return try receive { try Reply(message: $0) }
    }

    mutating func begin(_ call: Call) throws(Failure) {
        let message: [UInt8]
        do {
            message = try call.message()
        } catch {
            throw Failure(message: "cannot encode the call as JSON: \(error)", status: .usage)
        }
        try send(message)
    }

    mutating func next<Value>(_ read: ([UInt8]) throws -> Value) throws(Failure) -> Value {
        let reply = try receive(read)
        deadline = timeout.map { .now.advanced(by: $0) }
        return reply
    }

    // MARK: - Private

    private func connect(to address: inout sockaddr_un, within timeout: Duration) throws(Failure) {
        var limit = timeval(tv_sec: Int(timeout.components.seconds), tv_usec: 0)
        // SAFETY: setsockopt(2) and connect(2) each read one structure of the given size.
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_SNDTIMEO,
                &limit,
                socklen_t(MemoryLayout<timeval>.size)
            )
            return unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Unreachable.connecting(to: path, error: errno) }
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw Unreachable.talking(to: path, error: errno)
        }
    }

    private mutating func send(_ message: [UInt8]) throws(Failure) {
        var rest = message[...]
        while !rest.isEmpty {
            try wait(for: POLLOUT)
            // SAFETY: send(2) reads at most the count of the buffer.
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                throw Unreachable.talking(to: path, error: errno)
            }
            rest = rest.dropFirst(count)
        }
    }

    private mutating func receive<Value>(
        _ read: ([UInt8]) throws -> Value
    ) throws(Failure) -> Value {
        var buffer = [UInt8](repeating: 0, count: Self.readOctets)
        do {
            while true {
                if let message = try decoder.next() { return try read(message) }
                try wait(for: POLLIN)
                let wanted = min(buffer.count, decoder.room)
                // SAFETY: recv(2) writes at most `wanted` octets, and `buffer` is at least as long.
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe recv(descriptor, $0.baseAddress, wanted, 0)
                }
                if count < 0 {
                    if errno == EINTR || errno == EAGAIN { continue }
                    throw Unreachable.talking(to: path, error: errno)
                }
                guard count > 0 else { throw Unreachable.closed(path) }
                decoder.append(buffer[..<count])
            }
        } catch let error as ProtocolError {
            throw Failure(message: "no Varlink service on \(path): \(error)")
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(message: "\(error)")
        }
    }

    private mutating func wait(for events: Int32) throws(Failure) {
        while true {
            let result = Readiness.wait(descriptor, for: events, until: deadline)
            if let result, result != 0 { throw Unreachable.talking(to: path, error: result) }
            guard result == nil, let timeout else { return }
            guard let onSilence else { throw Unreachable.silent(path, after: timeout) }
            try onSilence()
            deadline = .now.advanced(by: timeout)
        }
    }
}
