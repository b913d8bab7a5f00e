// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct PausedServer: ParsableArguments {
    @Argument(
        help: "Name of a vendor or upstream in the settings.",
        completion: .custom { _, _, _ in Completions.servers }
    )
    var name: String

    @Flag(name: .long, help: "Select the upstream, even if a vendor has the same name.")
    var upstream = false

    var request: PauseRequest { upstream ? PauseRequest(upstream: name) : PauseRequest(name: name) }
}

struct PauseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop sending queries to a vendor or upstream, until `resume`.",
        discussion: """
            The next vendor of the route, or the fallback, answers the names of a paused vendor. \
            Queries for a paused upstream go to the other upstreams. Exception: a plain upstream \
            does not replace a paused encrypted upstream. Calls in flight continue, and cached \
            answers are still served. If no other upstream can answer, the client gets a stale \
            answer or SERVFAIL. `status` shows the pause. If the pause leaves names without any \
            vendor and upstream, the command prints a warning, and `status` exits with 4.

            A pause ends with `resume` or a restart of the daemon; a reload does not end the \
            pause. To disable a vendor or upstream permanently, remove it from the settings.

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

struct ResumeVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume a paused vendor or upstream.",
        discussion: """
            Ends a pause. Also ends the suspension of five minutes that begins when a vendor \
            refuses the account (401, 403). Does not end a rate limit of the vendor (429), or \
            the suspension after the budget is spent.

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
