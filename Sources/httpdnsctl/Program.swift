// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CLinux
import Control
import Glibc

@main
struct Program {
    static func main() {
        // Swift reads the arguments from /proc: without /proc, the array is empty.
        guard !CommandLine.arguments.isEmpty else {
            Output.error("cannot read the arguments, because /proc is not mounted: mount /proc")
            exit(ExitStatus.usage.rawValue)
        }
        // If standard output were closed, the control socket could get descriptor 1, and would
        // receive the output. With read-only descriptors, write(2) fails with EBADF.
        guard linux_open_standard_descriptors(O_RDONLY) == 0 else {
            Output.error("cannot open /dev/null for a closed standard descriptor")
            exit(ExitStatus.failed.rawValue)
        }
        // Without SIGPIPE, write(2) reports a closed pipe as an error.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func run(_ arguments: [String]) -> ExitStatus {
        let printsJSON = arguments.prefix { $0 != "--" }.contains("--json")
        do {
            if let failure = unknownVerb(in: arguments) { throw failure }
            var command = try Httpdnsctl.parseAsRoot(arguments)
            if let verb = command as? any Verb {
                return try verb.perform(over: ControlClient(socket: verb.options.path))
            }
            try command.run()
            return .ok
        } catch let failure as Failure {
            guard failure.status != .ok else { return .ok }
            if printsJSON, !failure.isInReply {
                // Ignores a write error, because a report of it could not be written either.
                try? Output.write(failure.json)
            } else {
                Output.error(failure.text)
            }
            return failure.status
        } catch {
            let message = Httpdnsctl.fullMessage(for: error)
            guard Httpdnsctl.exitCode(for: error) == .success else {
                if printsJSON {
                    let failure = Failure(message: Httpdnsctl.message(for: error), status: .usage)
                    try? Output.write(failure.json)
                } else {
                    Output.error(message)
                }
                return .usage
            }
            do {
                try Output.write(message + "\n")
            } catch {
                if error.status != .ok { Output.error(error.text) }
                return error.status
            }
            return .ok
        }
    }

    private static func unknownVerb(in arguments: [String]) -> Failure? {
        var rest = arguments[...]
        while let first = rest.first, first.hasPrefix("-") {
            guard first == "--json" || first == "--socket" || first.hasPrefix("--socket=") else {
                return nil
            }
            rest = rest.dropFirst(first == "--socket" ? 2 : 1)
        }
        let verbs = Httpdnsctl.configuration.subcommands.map { $0._commandName } + ["help"]
        guard let verb = rest.first, !verbs.contains(verb) else { return nil }
        return Failure(
            message: "unknown command `\(verb)`",
            hint: DidYouMean.hint(for: verb, among: verbs)
                ?? "`httpdnsctl --help` lists all commands",
            status: .usage
        )
    }
}
