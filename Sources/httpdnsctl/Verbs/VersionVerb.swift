// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct VersionVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Show the versions of the running daemon and its libraries.",
        discussion: """
            Calls the daemon; --version shows only the version of httpdnsctl.

            EXAMPLES
              httpdnsctl version
              httpdnsctl version --json
            """
    )

    @OptionGroup var options: Options

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.version)
        try show(reply, as: VersionReply.self, VersionText.render)
        return .ok
    }
}
