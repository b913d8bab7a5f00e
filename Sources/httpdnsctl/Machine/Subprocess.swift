// SPDX-License-Identifier: Apache-2.0
import Glibc

enum Subprocess {
    struct Outcome: Equatable, Sendable {
        /// Exit code, or 128 plus the signal number; nil after a timeout.
        var status: Int32?

        var output: String
        var duration: Duration = .zero
    }

    private static let maximumOctets = 1 << 20
    private static let directories = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    static func path(_ program: String) -> String? {
        if program.contains("/") { return program }
        return directories.map { "\($0)/\(program)" }.first { path in
            // SAFETY: access(2) reads a C string that lives during the call.
            unsafe access(path, X_OK) == 0
        }
    }

    /// Runs a program and returns its outcome; nil if the program cannot be started.
    ///
    /// After `limit`, the whole process group is killed.
    static func run(_ command: [String], within limit: Duration) -> Outcome? {
        guard let program = command.first.flatMap(path) else { return nil }
        let start = ContinuousClock.now
        var ends: [Int32] = [-1, -1]
        // The Glibc module has no pipe2.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // SAFETY: socketpair(2) writes two descriptors into an array of two elements.
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        defer { close(ends[0]) }
        let pid = spawn(program, command, output: ends[1])
        close(ends[1])
        guard let pid else { return nil }
        let deadline = start.advanced(by: limit)
        var output: [UInt8] = []
        let isClosed = read(ends[0], into: &output, until: deadline)
        var isEnded = false
        if !isClosed {
            isEnded = true
            kill(-pid, SIGKILL)
        }
        var word: Int32 = 0
        // Waits without a time limit, because a program that has closed its output exits soon.
        // SAFETY: waitpid(2) writes one integer.
        while unsafe waitpid(pid, &word, 0) < 0, errno == EINTR {}
        return Outcome(
            status: isEnded ? nil : word & 0x7F == 0 ? word >> 8 & 0xFF : 128 + word & 0x7F,
            output: String(decoding: output, as: UTF8.self),
            duration: start.duration(to: .now)
        )
    }

    // MARK: - Private

    private static func spawn(_ program: String, _ command: [String], output: Int32) -> pid_t? {
        // SAFETY: both structures are initialised before use and destroyed after; the arrays of C
        // strings end with nil and are freed when the program has been started.
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 2)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        let arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var pid = pid_t()
        let error = unsafe posix_spawn(&pid, program, &actions, &attributes, arguments, environ)
        return error == 0 ? pid : nil
    }

    private static func read(
        _ descriptor: Int32,
        into output: inout [UInt8],
        until deadline: ContinuousClock.Instant
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            guard Readiness.wait(descriptor, for: POLLIN, until: deadline) == 0 else {
                return false
            }
            // SAFETY: read(2) writes at most `bytes.count` octets, the size of the buffer.
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return true }
            if output.count < maximumOctets { output += buffer[..<count] }
        }
    }
}
