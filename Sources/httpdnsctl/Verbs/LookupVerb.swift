// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl lookup`.
struct LookupVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Show what the cache holds of a name; causes no traffic.",
        discussion: """
            Exits with 1 if the cache holds nothing of it.

            EXAMPLES
              httpdnsctl lookup www.example.com
              httpdnsctl lookup www.example.com AAAA
              httpdnsctl lookup www.example.com --json | jq -r '.entries[].records[]'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The name.")
    var name: String

    @Argument(help: "Only this type, such as A, AAAA or TYPE65.")
    var type: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.lookup, LookupRequest(name: name, type: type))
        try show(reply, as: LookupReply.self, LookupText.render)
        return .ok
    }
}
