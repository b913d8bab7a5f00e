// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// Subcommand that calls the daemon.
protocol Verb: ParsableCommand {
    var options: Options { get }
    func perform(over client: ControlClient) throws(Failure) -> ExitStatus
}

extension Verb {
    @discardableResult
    func show<Results: Decodable>(
        _ reply: Reply,
        as type: Results.Type,
        _ render: (Results, Palette) -> String
    ) throws(Failure) -> Results {
        let results = try reply.checked(as: type)
        if options.printsJSON {
            try Output.write(try JSONOutput.text(reply.parameters, indented: true) + "\n")
        } else {
            try Output.write(render(results, Output.palette))
        }
        return results
    }
}

extension Reply {
    func checked<Results: Decodable>(as type: Results.Type) throws(Failure) -> Results {
        do {
            return try results(as: type)
        } catch let error as MethodError {
            throw Failure(message: error.description, error: error.name)
        } catch {
            throw Failure(message: "cannot decode the daemon's reply: \(error)")
        }
    }
}
