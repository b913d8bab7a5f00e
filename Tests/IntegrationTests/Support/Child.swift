// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Child process, which is killed when this object is released.
final class Child: @unchecked Sendable {
    struct End: Sendable {
        /// Exit code, or 128 plus the signal that ended the program.
        let status: Int32
        let output: String
        let errors: String
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let pid: pid_t
    private let program: String

    // SAFETY: the properties below are used only while `changes` is locked.
    private let changes = NSCondition()
    private var output: [UInt8] = []
    private var errors: [UInt8] = []
    private var openPipes = 2
    private var status: Int32?

    /// - Parameter descriptors: further file descriptors, by their number in the child.
    init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        descriptors: [Int32: Int32] = [:]
    ) throws {
        self.program = program
        let pipes = try [Self.pipe(), Self.pipe()]
        defer { for ends in pipes { close(ends.write) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[0].write, 1)
        posix_spawn_file_actions_adddup2(&actions, pipes[1].write, 2)
        for (number, descriptor) in descriptors {
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program must not inherit blocked signals.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let directories = "/usr/sbin:/usr/bin:/sbin:/bin"
        let whole = ["PATH": directories, "LC_ALL": "C", "HOME": "/nonexistent"]
            .merging(Self.sanitizer) { $1 }.merging(environment) { $1 }
        let argv = ([program] + arguments).map { strdup($0) } + [nil]
        let envp = whole.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid = pid_t()
        let path = program.contains("/") ? program : Tool.path(program, in: directories) ?? program
        let error = posix_spawn(&pid, path, &actions, &attributes, argv, envp)
        guard error == 0 else {
            for ends in pipes { close(ends.read) }
            throw Failure(
                description:
                    "\(program): \(String(cString: strerror(error)))\(Tool.hint(program))"
            )
        }
        self.pid = pid
        read(pipes[0].read) { $0.output += $1 }
        read(pipes[1].read) { $0.errors += $1 }
        // The reference is weak, so that `deinit` can end the program.
        Thread.detachNewThread { [weak self, pid] in
            var info = siginfo_t()
            while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            guard let self else { return }
            self.changes.withLock { self.reap() }
        }
    }

    deinit {
        guard status == nil else { return }
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    var errorText: String { changes.withLock { String(decoding: errors, as: UTF8.self) } }

    /// - Throws: `Failure` if the program ends, or after 20 s (200 s with a sanitizer).
    @discardableResult
    func line(with text: String, number: Int = 1) throws -> String {
        changes.lock()
        defer { changes.unlock() }
        let deadline = Date(timeIntervalSinceNow: Self.isWatched ? 200 : 20)
        while true {
            for stream in [output, errors] {
                var left = number
                let whole = stream.split(separator: 0x0A, omittingEmptySubsequences: false)
                    .dropLast()
                for line in whole.map({ String(decoding: $0, as: UTF8.self) })
                where line.contains(text) {
                    left -= 1
                    if left == 0 { return line }
                }
            }
            guard openPipes > 0, changes.wait(until: deadline) else {
                let said = String(decoding: output + errors, as: UTF8.self)
                throw Failure(description: "\(program) did not print '\(text)'; output: \(said)")
            }
        }
    }

    /// - Throws: `Failure` after `seconds`; the program is killed then.
    func end(within seconds: Double = 30) throws -> End {
        changes.lock()
        defer { changes.unlock() }
        let deadline = Date(timeIntervalSinceNow: seconds)
        while status == nil || openPipes > 0 {
            guard changes.wait(until: deadline) else {
                if status == nil { kill(pid, SIGKILL) }
                let said = String(decoding: output + errors, as: UTF8.self)
                throw Failure(
                    description: "\(program) did not end within \(seconds) s; output: \(said)"
                )
            }
        }
        return End(
            status: status ?? -1,
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self)
        )
    }

    func send(_ signal: Int32) { changes.withLock { if status == nil { kill(pid, signal) } } }

    @discardableResult
    func stop(within seconds: Double = 10) throws -> End {
        send(SIGTERM)
        return try end(within: seconds)
    }

    private static let sanitizer = ProcessInfo.processInfo.environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
    }

    /// True if programs are built with a sanitizer, which needs more memory and time.
    static var isWatched: Bool { !sanitizer.isEmpty }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        // Without SOCK_CLOEXEC, a program that another thread starts would inherit the pipe.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw Failure(description: "socketpair: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    /// `changes` must be locked.
    private func reap() {
        var word: Int32 = 0
        guard waitpid(pid, &word, 0) == pid else { return }
        status = word & 0x7F == 0 ? word >> 8 & 0xFF : 128 + word & 0x7F
        changes.broadcast()
    }

    private func read(
        _ descriptor: Int32,
        into keep: @escaping @Sendable (Child, ArraySlice<UInt8>) -> Void
    ) {
        Thread.detachNewThread { [weak self] in
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard let self else { break }
                self.changes.withLock {
                    if count > 0 { keep(self, buffer[..<count]) } else { self.openPipes -= 1 }
                    self.changes.broadcast()
                }
                if count <= 0 { break }
            }
            close(descriptor)
        }
    }
}

/// - Throws: `Child.Failure` if the program does not start or takes longer than `seconds`.
func run(_ program: String, _ arguments: [String], within seconds: Double = 30) throws -> Child.End
{ try Child(program, arguments).end(within: seconds) }

/// Checks the growth of a process's memory; does nothing if the programs have a sanitizer.
func expectGrowth(
    _ octets: Int,
    below bound: Int,
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !Child.isWatched else { return }
    #expect(octets < bound, comment, sourceLocation: sourceLocation)
}
