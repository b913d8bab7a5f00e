// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// One verb of the command line.
protocol Verb: ParsableCommand {
    /// The options every verb has.
    var options: Options { get }

    /// Asks the daemon and prints the answer.
    ///
    /// - Throws: `Failure`.
    func perform(over client: ControlClient) throws(Failure) -> ExitStatus
}

extension Verb {
    /// Prints `results` as JSON, or as what `render` makes of their typed form.
    ///
    /// - Returns: the typed form.
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
    /// The results, with whatever is wrong with them as a `Failure` of the verb.
    func checked<Results: Decodable>(as type: Results.Type) throws(Failure) -> Results {
        do {
            return try results(as: type)
        } catch let error as MethodError {
            throw Failure(message: error.description, status: .failed, error: error.name)
        } catch {
            throw Failure(message: "the daemon's reply is not readable: \(error)", status: .failed)
        }
    }
}
