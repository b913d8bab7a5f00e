// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Glibc

/// `httpdnsctl reload`.
struct ReloadVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read the settings again and put them in force.",
        discussion: """
            All of them or none: if anything is wrong, every error is told, with its place, and the \
            daemon goes on as it was (exit code 1). Else it tells what has changed. What needs a \
            restart is named and stays as it was.

            The cache, connections, counters, pauses and what is known of servers survive; only \
            answers that the new settings would get from somebody else are removed.

            EXAMPLES
              httpdnsctl check && httpdnsctl reload
            """
    )

    @OptionGroup var options: Options

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.reload)
        let results = try show(reply, as: ReloadReply.self) { ReloadText.render($0, $1) }
        try ReloadText.complain(
            results,
            "the settings were not reloaded, keeping the old configuration",
            unless: results.applied
        )
        return .ok
    }
}

/// `httpdnsctl check`.
struct CheckVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Tell what is wrong with the settings, and what a reload would change.",
        discussion: """
            Without FILE, of the daemon's own file as it is now. FILE is read by httpdnsctl, so it \
            must be readable for you; the secrets and certificates it names are read by the daemon, \
            which is who would need them. Nothing changes. Exits with 1 if there are errors.

            Without a daemon there is `httpdnsd --config FILE --check`.

            EXAMPLES
              httpdnsctl check
              httpdnsctl check new.yaml
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The file; by default the daemon's own.", completion: .file())
    var file: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var request = CheckRequest()
        if let file { request = CheckRequest(text: try Self.text(of: file), file: file) }
        let reply = try client.call(.check, request)
        let results = try show(reply, as: ReloadReply.self) { ReloadText.render($0, $1) }
        try ReloadText.complain(results, "the settings are wrong", unless: results.problems.isEmpty)
        return .ok
    }

    /// Reads a file that fits into a call.
    private static func text(of file: String) throws(Failure) -> String {
        // SAFETY: the path is a text that ends with NUL.
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(message: "\(file): \(systemMessage(errno))", status: .failed)
        }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            // SAFETY: read(2) writes no more than the count of the buffer it is given.
            let count = unsafe block.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(message: "\(file): \(systemMessage(errno))", status: .failed)
            }
            guard count > 0 else { break }
            octets += block[..<count]
            guard octets.count <= ControlLimits.callOctets else {
                throw Failure(
                    message: "\(file) is longer than a call may be",
                    hint: "use httpdnsd --config \(file) --check",
                    status: .failed
                )
            }
        }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw Failure(message: "\(file) is not UTF-8", status: .failed)
        }
        return text
    }
}
