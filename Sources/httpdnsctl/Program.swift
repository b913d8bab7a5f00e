// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Glibc

/// Where the program begins.
@main
struct Program {
    /// Runs the verb of the command line, and exits with the code DESIGN promises.
    static func main() {
        // A reader that goes away, such as `head`, shows as an error of write(2) instead.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Runs the verb of `arguments`, printing what went wrong to standard error.
    private static func run(_ arguments: [String]) -> ExitStatus {
        do {
            var command = try Httpdnsctl.parseAsRoot(arguments)
            if let verb = command as? any Verb {
                return try verb.perform(over: ControlClient(socket: verb.options.path))
            }
            try command.run()
            return .ok
        } catch let failure as Failure {
            if failure.status != .ok { Output.error(failure.text) }
            return failure.status
        } catch {
            let message = Httpdnsctl.fullMessage(for: error)
            guard Httpdnsctl.exitCode(for: error) == .success else {
                Output.error(message)
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
}
