// SPDX-License-Identifier: Apache-2.0
package import Control
import Foundation
package import Glibc

/// Simulated control socket of the daemon, with scripted replies and a thread for each connection.
///
/// The test must call `stop()` at its end.
package struct ScriptedDaemon: Sendable {
    package enum Answer: Sendable {
        case results(any Encodable & Sendable)
        case error(MethodError)
        case octets([UInt8])
        case last([UInt8])
        case close
    }

    private let folder: String

    package let path: String

    private let descriptor: Int32

    package init(_ answer: @escaping @Sendable (Call) -> Answer) throws {
        folder = try temporaryFolder()
        path = folder + "/control.sock"
        descriptor = try unixSocket(path) { bind($0, $1, $2) == 0 && listen($0, 8) == 0 }
        let descriptor = descriptor
        Thread.detachNewThread {
            while true {
                let peer = accept(descriptor, nil, nil)
                guard peer >= 0 else { break }
                Thread.detachNewThread {
                    Self.serve(peer, answer)
                    close(peer)
                }
            }
            close(descriptor)
        }
    }

    package func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(atPath: folder)
    }

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

package struct SystemFault: Error {
    let call: String
    let number: Int32
}

package func temporaryFolder() throws -> String {
    var template = Array("/tmp/httpdnsd-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemFault(call: "mkdtemp", number: errno) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

package func unixSocket(
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

package func writeAll(_ octets: [UInt8], to descriptor: Int32) -> Bool {
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

package struct ProgramRun: Sendable {
    package let status: Int32
    package let output: String
    package let errors: String
}

package func runControl(_ arguments: String...) async throws -> ProgramRun {
    try await runControl(arguments)
}

package func runControl(_ arguments: [String]) async throws -> ProgramRun {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
    return try await run(folder.appendingPathComponent("httpdnsctl").path, arguments)
}

/// Runs a program, and waits for its end on a new thread, because Swift's threads must not block.
package func run(_ program: String, _ arguments: [String]) async throws -> ProgramRun {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try runAndWait(program, arguments) })
        }
    }
}

private func runAndWait(_ program: String, _ arguments: [String]) throws -> ProgramRun {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let written = output.fileHandleForReading.readDataToEndOfFile()
    let complained = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return ProgramRun(
        status: process.terminationStatus,
        output: String(decoding: written, as: UTF8.self),
        errors: String(decoding: complained, as: UTF8.self)
    )
}
