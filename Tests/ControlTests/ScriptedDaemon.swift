// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import Glibc

/// A real Unix socket that answers calls as a test says, one connection after the other.
///
/// To be stopped by the test: a daemon that ended with its last use would end before it is asked.
struct ScriptedDaemon: Sendable {
    /// What to do with a call.
    enum Answer: Sendable {
        /// Reply with results.
        case results(any Encodable & Sendable)
        /// Reply with an error.
        case error(MethodError)
        /// Send these octets.
        case octets([UInt8])
        /// Send these octets and hang up.
        case last([UInt8])
        /// Hang up.
        case close
    }

    /// The folder of the socket.
    private let folder: String

    /// The path of the socket.
    let path: String

    /// The listening socket, which the thread closes.
    private let descriptor: Int32

    /// Listens, and answers each call on a thread of its own.
    init(_ answer: @escaping @Sendable (Call) -> Answer) throws {
        folder = try temporaryFolder()
        path = folder + "/control.sock"
        descriptor = try unixSocket(path) { bind($0, $1, $2) == 0 && listen($0, 8) == 0 }
        let descriptor = descriptor
        Thread.detachNewThread {
            while true {
                let peer = accept(descriptor, nil, nil)
                guard peer >= 0 else { break }
                Self.serve(peer, answer)
                close(peer)
            }
            close(descriptor)
        }
    }

    /// Ends the thread and removes the socket.
    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Answers the calls of one connection until the peer goes away.
    private static func serve(_ peer: Int32, _ answer: (Call) -> Answer) {
        var decoder = MessageDecoder(maximumOctets: ControlLimits.callOctets)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            while let message = try? decoder.next() {
                guard let call = try? Call(message: message) else { return }
                let reply: [UInt8]
                switch answer(call) {
                case .results(let results): reply = (try? Reply.message(results: results)) ?? []
                case .error(let error): reply = (try? Reply(error).message()) ?? []
                case .octets(let octets): reply = octets
                case .last(let octets):
                    _ = writeAll(octets, to: peer)
                    return
                case .close: return
                }
                guard writeAll(reply, to: peer) else { return }
            }
            let count = recv(peer, &buffer, min(buffer.count, decoder.room), 0)
            guard count > 0 else { return }
            decoder.append(buffer[..<count])
        }
    }
}

/// What the tests of sockets could not do.
struct SystemFault: Error {
    /// The call that failed.
    let call: String
    /// Its error number.
    let number: Int32
}

/// A new folder of our own.
func temporaryFolder() throws -> String {
    var template = Array("/tmp/httpdnsd-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemFault(call: "mkdtemp", number: errno) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A Unix stream socket, bound or connected to `path` by `use`.
func unixSocket(
    _ path: String,
    _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Bool
) throws -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let used = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard descriptor >= 0, used else {
        let number = errno
        close(descriptor)
        throw SystemFault(call: "socket", number: number)
    }
    return descriptor
}

/// Sends all octets; false if the peer went away.
func writeAll(_ octets: [UInt8], to descriptor: Int32) -> Bool {
    var rest = octets[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

/// What a program did.
struct ProgramRun: Sendable {
    /// Its exit code.
    let status: Int32
    /// What it wrote to standard output.
    let output: String
    /// What it wrote to standard error.
    let errors: String
}

/// Runs the real `httpdnsctl`, built beside this test.
func httpdnsctl(_ arguments: String...) async throws -> ProgramRun {
    try await httpdnsctl(arguments)
}

/// Runs the real `httpdnsctl` with a list of arguments.
func httpdnsctl(_ arguments: [String]) async throws -> ProgramRun {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
    return try await run(folder.appendingPathComponent("httpdnsctl").path, arguments)
}

/// Runs a program to its end, on a thread that may wait: Swift's own may not.
func run(_ program: String, _ arguments: [String]) async throws -> ProgramRun {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try runAndWait(program, arguments) })
        }
    }
}

/// Runs a program to its end, blocking the thread.
private func runAndWait(_ program: String, _ arguments: [String]) throws -> ProgramRun {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // All verbs write far less to standard error than a pipe holds, so the order does no harm.
    let written = output.fileHandleForReading.readDataToEndOfFile()
    let complained = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return ProgramRun(
        status: process.terminationStatus,
        output: String(decoding: written, as: UTF8.self),
        errors: String(decoding: complained, as: UTF8.self)
    )
}
