// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// The vendor or upstream on the command line of `pause` and `resume`.
struct PausedServer: ParsableArguments {
    @Argument(
        help: "The name of the vendor, or else of the upstream, in the settings.",
        completion: .custom { _, _, _ in Completions.servers }
    )
    var name: String

    @Flag(name: .long, help: "The upstream of this name, also if a vendor has it, too.")
    var upstream = false

    /// The arguments of the call.
    var request: PauseRequest {
        upstream ? PauseRequest(upstream: name) : PauseRequest(name: name)
    }
}

/// `httpdnsctl pause`.
struct PauseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Send no more to a vendor or upstream until it is resumed.",
        discussion: """
            The names of a vendor go to the next vendor of their route, or to the fallback; queries \
            go to the other upstreams. Calls under way go on, and the cache answers. A pause is no \
            degradation: `status` shows it and exits with 0. With all upstreams paused, queries that \
            need one get SERVFAIL, or a stale answer.

            A pause ends with `resume`, or when the daemon starts anew; a reload keeps it. A pause \
            that is to last belongs into the settings: take the vendor or upstream out of them.

            EXAMPLES
              httpdnsctl pause tencent
              httpdnsctl pause --upstream isp
            """
    )

    @OptionGroup var options: Options

    @OptionGroup var server: PausedServer

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.pause, server.request)
        try show(reply, as: PauseReply.self) { change, _ in
            PauseText.render(change, isPause: true)
        }
        return .ok
    }
}

/// `httpdnsctl resume`.
struct ResumeVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume a paused vendor or upstream.",
        discussion: """
            Ends an operator's pause, and the five minutes of rest after a vendor has refused the \
            account (401, 403). It ends neither a rest that the vendor asked for (429) nor that of a \
            spent budget.

            EXAMPLES
              httpdnsctl resume tencent
            """
    )

    @OptionGroup var options: Options

    @OptionGroup var server: PausedServer

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.resume, server.request)
        try show(reply, as: PauseReply.self) { change, _ in
            PauseText.render(change, isPause: false)
        }
        return .ok
    }
}
