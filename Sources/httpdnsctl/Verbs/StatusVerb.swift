// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct StatusVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the daemon and its problems.",
        discussion: """
            Shows the listeners, the target of resolv.conf, the cache, and each vendor and upstream \
            with its health, median latency and last error. `used first` marks the preferred server \
            of a vendor. For a vendor, also shows the reason and the end of a suspension, the spent \
            budget, and the refresh of its server addresses.

            Exits with 4 if the daemon is degraded. A vendor or upstream paused by the operator \
            counts only if the pause leaves names without any vendor and upstream.

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
