// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization

/// Lock for the start of a child process, so that no child inherits the pipes of another child.
private let spawning = Mutex(())

struct Run {
    let output: String
    let errors: String
    let code: Int32

    static func product(_ name: String, _ arguments: String...) throws -> Run {
        try Run(product(name), arguments)
    }

    static func product(_ name: String) -> URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: name)
    }

    /// Runs a program; its standard error must fit into a pipe.
    init(_ program: URL, _ arguments: [String]) throws {
        let process = Process()
        let output = Pipe()
        let errors = Pipe()
        let ended = DispatchSemaphore(value: 0)
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { _ in ended.signal() }
        try spawning.withLock { _ in try process.run() }
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        let complained = try errors.fileHandleForReading.readToEnd() ?? Data()
        ended.wait()
        self.output = String(decoding: said, as: UTF8.self)
        self.errors = String(decoding: complained, as: UTF8.self)
        code = process.terminationStatus
    }
}
