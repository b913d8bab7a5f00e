// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Glibc

struct ReloadVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read the settings again and apply them.",
        discussion: """
            Applies all settings or none. If there are errors, prints all of them with their places, \
            and the daemon keeps the old settings (exit code 1). Otherwise prints the changes. \
            Options that need a restart are listed and keep their old values.

            The cache, connections, counters, pauses and server health survive; only cached answers \
            that the new settings would obtain from another source are removed.

            Returns when the reload is complete; with many routes, this takes seconds.

            EXAMPLES
              httpdnsctl check && httpdnsctl reload
            """
    )

    @OptionGroup var options: Options

    static func report(_ time: Duration) {
        Output.error("httpdnsctl: still waiting for the daemon after \(time.components.seconds) s")
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.slowCall(.reload) { Self.report($0) }
        let results = try show(reply, as: ReloadReply.self) { ReloadText.render($0, $1) }
        try ReloadText.complain(
            results,
            "the settings have errors, keeping the old configuration",
            unless: results.applied
        )
        return .ok
    }
}

struct CheckVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Show errors in the settings, and what a reload would change.",
        discussion: """
            Without FILE, checks the present content of the daemon's own settings file. httpdnsctl \
            reads FILE, which you must be able to read; the daemon reads the secrets and \
            certificates that FILE names. Changes nothing. Exits with 1 if there are errors.

            Without a running daemon, use `httpdnsd --config FILE --check`.

            EXAMPLES
              httpdnsctl check
              httpdnsctl check new.yaml
            """
    )

    @OptionGroup var options: Options

    @Argument(
        help: "Settings file. (default: the settings file of the daemon)",
        completion: .file()
    )
    var file: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var request = CheckRequest()
        if let file { request = CheckRequest(text: try Self.text(of: file), file: file) }
        let reply = try client.slowCall(.check, request) { ReloadVerb.report($0) }
        let results = try show(reply, as: ReloadReply.self) { ReloadText.render($0, $1) }
        try ReloadText.complain(
            results,
            "the settings have errors",
            unless: results.problems.isEmpty
        )
        return .ok
    }

    private static func text(of file: String) throws(Failure) -> String {
        // Files that the calling program has already opened: standard input, and the pipe of a
        // process substitution such as `<(command)`.
        let isOpen =
            file == "/dev/stdin" || file.hasPrefix("/dev/fd/") || file.hasPrefix("/proc/self/fd/")
        let status = FileTree().status(FileTree.absolute(file), follows: true)
        guard isOpen || status.map({ $0.st_mode & S_IFMT == S_IFREG }) ?? true else {
            throw Failure(
                message: "\(file) is not a regular file",
                hint: "give a settings file, or /dev/stdin to check the output of a command"
            )
        }
        // SAFETY: open(2) reads a C string that lives during the call.
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | (isOpen ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw Failure(message: "\(file): \(systemMessage(errno))") }
        defer { close(descriptor) }
        let (octets, error) = readAll(descriptor, limit: ControlLimits.callOctets)
        guard error == 0 else { throw Failure(message: "\(file): \(systemMessage(error))") }
        guard octets.count <= ControlLimits.callOctets else {
            throw Failure(
                message: "\(file) is too long to send to the daemon",
                hint: "use httpdnsd --config \(file) --check"
            )
        }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw Failure(message: "\(file) is not UTF-8")
        }
        return text
    }
}
