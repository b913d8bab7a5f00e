// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct LookupVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Show the cache entries of a name; sends no query.",
        discussion: """
            Exits with 1 if the name is not cached.

            EXAMPLES
              httpdnsctl lookup www.example.com
              httpdnsctl lookup www.example.com AAAA
              httpdnsctl lookup www.example.com --json | jq -r '.entries[].records[]'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Name to look up.")
    var name: String

    @Argument(help: "Show only this type, such as A, AAAA or TYPE65.")
    var type: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.lookup, LookupRequest(name: name, type: type))
        try show(reply, as: LookupReply.self, LookupText.render)
        return .ok
    }
}
