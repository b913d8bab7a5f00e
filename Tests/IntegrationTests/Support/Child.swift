// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A program that runs beside the tests, with its output kept, and ends with this object at the
/// latest.
///
/// Threads of its own read the pipes and wait for the end, so nothing here polls and a chatty
/// program never blocks.
final class Child: @unchecked Sendable {
    /// How a program ended.
    struct End: Sendable {
        /// What it exited with; a signal's number plus 128 if one ended it.
        let status: Int32
        let output: String
        let errors: String
    }

    /// What went wrong with a program, in a sentence.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let pid: pid_t
    private let program: String

    // SAFETY: everything below is touched with `changes` locked only.
    private let changes = NSCondition()
    private var output: [UInt8] = []
    private var errors: [UInt8] = []
    private var openPipes = 2
    private var status: Int32?

    /// Starts `program`, found in the system's directories unless it is a path.
    ///
    /// - Parameter descriptors: what it inherits besides the standard three, by its own numbers.
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
        // Tests may run on threads that block signals, which the program must not inherit.
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
        // The thread keeps the state it writes alive, but not this object, whose end ends the
        // program: hence the weak reference while it waits.
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

    // MARK: - Reading

    /// What it has written to standard error so far.
    var errorText: String { changes.withLock { String(decoding: errors, as: UTF8.self) } }

    /// Waits for a line with `text` on standard output or standard error and returns that line.
    ///
    /// - Throws: `Failure` with everything it wrote, if it ends or 20 s pass before; a sanitizer may
    ///   take ten times as long.
    func line(with text: String) throws -> String {
        changes.lock()
        defer { changes.unlock() }
        let deadline = Date(timeIntervalSinceNow: Self.isWatched ? 200 : 20)
        while true {
            for stream in [output, errors] {
                let whole = stream.split(separator: 0x0A, omittingEmptySubsequences: false)
                    .dropLast()
                for line in whole.map({ String(decoding: $0, as: UTF8.self) })
                where line.contains(text) {
                    return line
                }
            }
            guard openPipes > 0, changes.wait(until: deadline) else {
                let said = String(decoding: output + errors, as: UTF8.self)
                throw Failure(description: "\(program) never said '\(text)', but: \(said)")
            }
        }
    }

    // MARK: - Ending

    /// Waits for its end.
    ///
    /// - Throws: `Failure` if it runs longer than `seconds`; it is killed then.
    func end(within seconds: Double = 30) throws -> End {
        changes.lock()
        defer { changes.unlock() }
        let deadline = Date(timeIntervalSinceNow: seconds)
        while status == nil || openPipes > 0 {
            guard changes.wait(until: deadline) else {
                if status == nil { kill(pid, SIGKILL) }
                let said = String(decoding: output + errors, as: UTF8.self)
                throw Failure(
                    description: "\(program) did not end within \(seconds) s; it said: \(said)"
                )
            }
        }
        return End(
            status: status ?? -1,
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self)
        )
    }

    /// Sends a signal, unless it has ended.
    func send(_ signal: Int32) {
        changes.withLock { if status == nil { kill(pid, signal) } }
    }

    /// Asks it to end with SIGTERM, and waits until it has.
    @discardableResult
    func stop(within seconds: Double = 10) throws -> End {
        send(SIGTERM)
        return try end(within: seconds)
    }

    // MARK: - Details

    /// What the programs of a build with a sanitizer need to know, of all that is in our environment.
    private static let sanitizer = ProcessInfo.processInfo.environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
    }

    /// Whether a sanitizer watches the programs of this build: it keeps what was freed for a while,
    /// and notes of its own about every octet.
    static var isWatched: Bool { !sanitizer.isEmpty }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        // A pair of sockets, as pipe2 is not in the Glibc module, and close-on-exec set later would
        // be too late for what another thread starts meanwhile.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw Failure(description: "socketpair: \(String(cString: strerror(errno)))")
        }
        return (ends[0], ends[1])
    }

    /// Takes the exit status, with `changes` locked: from then on the number may be another's.
    private func reap() {
        var word: Int32 = 0
        guard waitpid(pid, &word, 0) == pid else { return }
        status = word & 0x7F == 0 ? word >> 8 & 0xFF : 128 + word & 0x7F
        changes.broadcast()
    }

    /// Reads a pipe to its end on a thread of its own.
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

/// Runs a program to its end and returns how it ended.
///
/// - Throws: `Child.Failure` if it cannot be started or runs longer than `seconds`.
func run(_ program: String, _ arguments: [String], within seconds: Double = 30) throws -> Child.End
{
    try Child(program, arguments).end(within: seconds)
}

/// Holds what a program's memory has grown by to a bound, unless much of it is a sanitizer's.
func expectGrowth(
    _ octets: Int,
    below bound: Int,
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard !Child.isWatched else { return }
    #expect(octets < bound, comment, sourceLocation: sourceLocation)
}
