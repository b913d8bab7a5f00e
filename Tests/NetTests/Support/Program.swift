// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

final class Program: Sendable {
    struct Failure: Error {
        let what: String
    }

    let pid: pid_t

    init(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        descriptors: [Int32: Int32] = [:],
        errors: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The copies get numbers above all target numbers, so that dup2(2) never replaces a copy.
        let first = (descriptors.keys.max() ?? 0) + 1
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for (number, descriptor) in descriptors {
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, first)
            guard copy >= 0 else { throw Failure(what: String(cString: strerror(errno))) }
            copies.append(copy)
            posix_spawn_file_actions_adddup2(&actions, copy, number)
        }
        if let errors {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT, 0o600)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program starts without blocked signals, even if the thread of the test blocks
        // signals.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let argv = ([path] + arguments).map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid = pid_t()
        let error = posix_spawnp(&pid, path, &actions, &attributes, argv, envp)
        guard error == 0 else {
            throw Failure(what: "\(path): \(String(cString: strerror(error)))")
        }
        self.pid = pid
    }

    var children: [pid_t] {
        let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        return text?.split(separator: " ").compactMap { pid_t($0) } ?? []
    }

    private let hasEnded = Atomic(false)

    func end() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        hasEnded.store(true, ordering: .relaxed)
        return status
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        // Not SIGTERM: nginx ignores SIGTERM during its start, and then waits forever.
        kill(pid, SIGSTOP)
        for process in children + [pid] { kill(process, SIGKILL) }
        _ = end()
    }

    /// The output goes to a file, because other programs could inherit a pipe.
    static func run(_ path: String, _ arguments: [String], in directory: URL) throws {
        let errors = directory.appendingPathComponent("errors").path
        // posix_spawn of Swift's Glibc cannot change the directory.
        let there = ["-C", directory.path, path] + arguments
        let program = try Program("/usr/bin/env", there, errors: errors)
        guard program.end() == 0 else {
            throw Failure(what: try String(contentsOfFile: errors, encoding: .utf8))
        }
    }
}

final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("net-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: path(name), atomically: false, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
