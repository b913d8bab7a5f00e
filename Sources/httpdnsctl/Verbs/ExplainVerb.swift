// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl explain`.
struct ExplainVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tell how a name is answered, step by step, and what that costs.",
        discussion: """
            Each line is what one part of the daemon says of the question: is the name written down \
            or special, which route has it (by the place in the settings), what the cache holds, who \
            is asked if it has to be. Without --live nobody is asked and nothing is paid.

            With --live the question is asked now, past the cache, as a client without DNSSEC would \
            ask it. Every request is told: to whom, why, over which connection, how long its parts \
            took and what came back. Values of parameters, which may be secret, are left out. What \
            comes back is kept by the cache.

            EXAMPLES
              httpdnsctl explain www.example.com
              httpdnsctl explain www.example.com HTTPS
              httpdnsctl explain www.example.com --live
              httpdnsctl explain www.example.com --json | jq .route
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The name.")
    var name: String

    @Argument(help: "The type, such as A, AAAA or TYPE65. (default: A)")
    var type: String?

    @Flag(name: .long, help: "Ask now, past the cache, and tell each request.")
    var live = false

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let request = ExplainRequest(name: name, type: type, live: live ? true : nil)
        let reply = try client.call(.explain, request)
        let explained = try show(reply, as: ExplainReply.self, ExplainText.render)
        return explained.live?.answer.rcode == "servfail" ? .failed : .ok
    }
}
