// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl status`.
struct StatusVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell whether all is well, and if not, why.",
        discussion: """
            Shows the listeners, who answers resolv.conf, the cache, and each vendor and upstream \
            with its health, median latency and last error. The server marked * is asked first. Of a \
            vendor it also tells why it is not asked and until when, what is spent of its budget, and \
            how its servers' addresses are kept up to date.

            Exits with 4 if the daemon is degraded; a vendor paused by an operator is no degradation.

            EXAMPLES
              httpdnsctl status
              httpdnsctl status --json | jq -r '.problems[]'
            """
    )

    @OptionGroup var options: Options

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.status)
        let status = try show(reply, as: StatusReply.self, StatusText.render)
        return status.state == .degraded ? .degraded : .ok
    }
}
