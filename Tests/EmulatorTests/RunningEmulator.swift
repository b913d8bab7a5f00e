// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import httpdns_emulator

/// Lock for the start of a child process, so that no child inherits the pipes of another child.
private let spawning = Mutex(())

struct Child {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()

    /// Signalled at the end of the process; `waitUntilExit` would poll with a run loop.
    private let ended = DispatchSemaphore(value: 0)

    init(_ program: URL, _ arguments: [String]) throws {
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { [ended] _ in ended.signal() }
        try spawning.withLock { _ in try process.run() }
    }

    /// Closes the pipes: without this call, Foundation keeps thousands of descriptors open.
    func close() {
        try? output.fileHandleForReading.close()
        try? errors.fileHandleForReading.close()
    }

    func finish() throws -> (output: [UInt8], errors: String, code: Int32) {
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        let complained = try errors.fileHandleForReading.readToEnd() ?? Data()
        ended.wait()
        close()
        return (Array(said), String(decoding: complained, as: UTF8.self), process.terminationStatus)
    }
}

final class RunningEmulator {
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "httpdns-emulator")

    let child: Child

    let url: String

    convenience init(_ options: String..., listen: String = "127.0.0.1:0") throws {
        try self.init(options: options, listen: listen)
    }

    init(options: [String], listen: String = "127.0.0.1:0") throws {
        child = try Child(Self.program, ["--listen", listen] + options)
        var line: [UInt8] = []
        while let octet = try child.output.fileHandleForReading.read(upToCount: 1)?.first {
            if octet == UInt8(ascii: "\n") { break }
            line.append(octet)
        }
        let text = String(decoding: line, as: UTF8.self)
        try #require(text.hasPrefix("listening on "), "unexpected output: \(text)")
        url = "http://" + text.dropFirst("listening on ".count)
    }

    deinit {
        child.process.terminate()
        child.close()
    }

    func send(_ signal: Int32) { kill(child.process.processIdentifier, signal) }

    func get(_ path: String, _ options: String...) throws -> Curl {
        try Curl(options + [url + path])
    }

    func ask(_ names: String, _ parameters: String = "", _ options: String...) throws -> Curl {
        try Curl(options + ["\(url)/d?dn=\(names)&token=987654321\(parameters)"])
    }

    func raw(_ file: TemporaryFile) throws -> String {
        let arguments = ["--silent", "--noproxy", "*", "--upload-file", file.path]
        let url = "telnet://" + url.dropFirst("http://".count)
        let curl = try Child(URL(filePath: "/usr/bin/env"), ["curl"] + arguments + [url])
        return String(decoding: try curl.finish().output, as: UTF8.self)
    }

    func misbehave(_ faults: String...) throws {
        let reply = try get("/_emulator/faults", "--data-binary", faults.joined(separator: "\n"))
        try #require(reply.status == 200, "\(reply.text)")
    }

    func calls() throws -> Calls.Numbers {
        let reply = try get("/_emulator/calls")
        return try JSONDecoder().decode(Calls.Numbers.self, from: Data(reply.body))
    }
}

struct Curl {
    let exit: Int32
    let status: Int?
    let headers: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

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

final class TemporaryFile {
    let path: String

    init(_ text: String, suffix: String = ".zone") throws {
        let name = "httpdns-emulator-" + UUID().uuidString + suffix
        path = FileManager.default.temporaryDirectory.appending(path: name).path()
        try write(text)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }
}
