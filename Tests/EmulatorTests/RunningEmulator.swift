// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import httpdns_emulator

/// Spawning is one at a time, so that no child inherits the pipes of another and keeps them open.
private let spawning = Mutex(())

/// A child process with its output in pipes.
struct Child {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()

    /// Signalled at its end: `waitUntilExit` would poll with a run loop.
    private let ended = DispatchSemaphore(value: 0)

    /// Starts a program.
    init(_ program: URL, _ arguments: [String]) throws {
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { [ended] _ in ended.signal() }
        try spawning.withLock { _ in try process.run() }
    }

    /// Gives its descriptors back: Foundation would keep them, thousands in one run.
    func close() {
        try? output.fileHandleForReading.close()
        try? errors.fileHandleForReading.close()
    }

    /// Everything it says to stdout and stderr until it ends, and its exit code.
    func finish() throws -> (output: [UInt8], errors: String, code: Int32) {
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        let complained = try errors.fileHandleForReading.readToEnd() ?? Data()
        ended.wait()
        close()
        return (Array(said), String(decoding: complained, as: UTF8.self), process.terminationStatus)
    }
}

/// The real program, beside the tests in the build's products, on a free port.
final class RunningEmulator {
    /// The program itself.
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "httpdns-emulator")

    /// The running program.
    let child: Child

    /// `http://ADDR:PORT`.
    let url: String

    /// Starts it and waits until it says where it listens.
    convenience init(_ options: String..., listen: String = "127.0.0.1:0") throws {
        try self.init(options: options, listen: listen)
    }

    /// The same with the options in an array.
    init(options: [String], listen: String = "127.0.0.1:0") throws {
        child = try Child(Self.program, ["--listen", listen] + options)
        var line: [UInt8] = []
        while let octet = try child.output.fileHandleForReading.read(upToCount: 1)?.first {
            if octet == UInt8(ascii: "\n") { break }
            line.append(octet)
        }
        let text = String(decoding: line, as: UTF8.self)
        try #require(text.hasPrefix("listening on "), "said: \(text)")
        url = "http://" + text.dropFirst("listening on ".count)
    }

    deinit {
        child.process.terminate()
        child.close()
    }

    /// Sends a signal.
    func send(_ signal: Int32) { kill(child.process.processIdentifier, signal) }

    // MARK: - Asking

    /// Fetches a path with curl.
    func get(_ path: String, _ options: String...) throws -> Curl {
        try Curl(options + [url + path])
    }

    /// The answer to a lookup by token, with further parameters.
    func ask(_ names: String, _ parameters: String = "", _ options: String...) throws -> Curl {
        try Curl(options + ["\(url)/d?dn=\(names)&token=987654321\(parameters)"])
    }

    /// What comes back for octets sent as they are (curl's telnet, which sends stdin).
    func raw(_ file: TemporaryFile) throws -> String {
        let arguments = ["--silent", "--noproxy", "*", "--upload-file", file.path]
        let url = "telnet://" + url.dropFirst("http://".count)
        let curl = try Child(URL(filePath: "/usr/bin/env"), ["curl"] + arguments + [url])
        return String(decoding: try curl.finish().output, as: UTF8.self)
    }

    /// Replaces the faults.
    func misbehave(_ faults: String...) throws {
        let reply = try get(
            "/_emulator/faults",
            "--data-binary",
            faults.joined(separator: "\n")
        )
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// The counters.
    func calls() throws -> Calls.Numbers {
        let reply = try get("/_emulator/calls")
        return try JSONDecoder().decode(Calls.Numbers.self, from: Data(reply.body))
    }
}

/// One run of curl.
struct Curl {
    /// The exit code (`curl(1)`, EXIT CODES).
    let exit: Int32
    /// The status code, nil if no head came.
    let status: Int?
    /// The header fields, names in lower case.
    let headers: [String: String]
    /// The content.
    let body: [UInt8]

    /// The content as text.
    var text: String { String(decoding: body, as: UTF8.self) }

    /// Runs it silently, without any proxy, and takes head and content apart.
    init(_ arguments: [String]) throws {
        let curl = ["--silent", "--include", "--noproxy", "*"] + arguments
        let result = try Child(URL(filePath: "/usr/bin/env"), ["curl"] + curl).finish()
        exit = result.code
        guard let end = result.output.firstRange(of: Array("\r\n\r\n".utf8)) else {
            (status, headers, body) = (nil, [:], result.output)
            return
        }
        let lines = String(decoding: result.output[..<end.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let pairs = lines.dropFirst().compactMap { line -> (String, String)? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            return (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces))
        }
        headers = Dictionary(pairs, uniquingKeysWith: { $0 + ", " + $1 })
        body = Array(result.output[end.upperBound...])
    }
}

/// A file that lives as long as a test.
final class TemporaryFile {
    /// Where it is.
    let path: String

    /// Writes it.
    init(_ text: String, suffix: String = ".zone") throws {
        let name = "httpdns-emulator-" + UUID().uuidString + suffix
        path = FileManager.default.temporaryDirectory.appending(path: name).path()
        try write(text)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Replaces its content.
    func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }
}
