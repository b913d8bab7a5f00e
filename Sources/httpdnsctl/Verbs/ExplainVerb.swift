// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct ExplainVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show how the daemon answers a query, and what the answer costs.",
        discussion: """
            Each line shows the result of one stage: entries of `hosts`, special names \
            (RFC 6761), the route of the name with its place in the settings, the cache, and the \
            vendors or upstreams that the daemon would query. Without --live, the daemon sends no \
            query and makes no billable call.

            With --live the name is resolved now, without reading the cache, as for a client that \
            does not request DNSSEC. Each request is listed with its destination, reason, \
            connection, durations and result. Values of request parameters, which may be secret, are \
            left out. The answer is stored in the cache.

            EXAMPLES
              httpdnsctl explain www.example.com
              httpdnsctl explain www.example.com HTTPS
              httpdnsctl explain www.example.com --live
              httpdnsctl explain www.example.com --json | jq .route
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Name to explain.")
    var name: String

    @Argument(help: "Type, such as A, AAAA or TYPE65. (default: A)")
    var type: String?

    @Flag(name: .long, help: "Resolve now, without reading the cache, and list each request.")
    var live = false

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let request = ExplainRequest(name: name, type: type, live: live ? true : nil)
        let reply = try client.call(.explain, request)
        let explained = try show(reply, as: ExplainReply.self, ExplainText.render)
        return explained.live?.answer.rcode == "servfail" ? .failed : .ok
    }
}
