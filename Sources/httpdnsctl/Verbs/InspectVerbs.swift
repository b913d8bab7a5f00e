// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct SettingsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show the settings in force, including defaults.",
        discussion: """
            Prints YAML that the daemon can read again: the settings of the running daemon, including \
            drop-ins, but not changes of the files since the last reload. Secrets are shown as \
            references to their files.

            EXAMPLES
              httpdnsctl settings
              httpdnsctl settings | grep -A3 prefetch
              httpdnsctl settings --json | jq -r .text
            """
    )

    @OptionGroup var options: Options

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.settings)
        try show(reply, as: SettingsReply.self) { reply, _ in
            reply.text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { printable(String($0)) }.joined(separator: "\n")
        }
        return .ok
    }
}

struct RoutesVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "routes",
        abstract: "Show the routes in force, or the route of a name.",
        discussion: """
            Shows each route with its place in the settings, its domains and its servers. A name \
            without a route goes to the upstreams; for such a name, the exit code is 1. Sends no \
            query.

            EXAMPLES
              httpdnsctl routes
              httpdnsctl routes www.example.com
              httpdnsctl routes --json | jq -r '.routes[].domains[]'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Show only the route of this name.")
    var name: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.routes, RoutesRequest(name: name))
        try show(reply, as: RoutesReply.self, RoutesText.render)
        return .ok
    }
}

struct LogLevelVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or change the log level.",
        discussion: """
            LEVEL is trace, debug, info, notice, warning, error or critical. The change survives \
            reloads, and lasts until the daemon ends or until `log-level settings` restores \
            `log.level` of the settings.

            EXAMPLES
              httpdnsctl log-level
              httpdnsctl log-level debug
              httpdnsctl log-level settings     # back to the level of the settings
            """
    )

    @OptionGroup var options: Options

    @Argument(
        help: "New level, or `settings` (configured level). Omit to show the level.",
        completion: .list(Completions.levels + ["settings"])
    )
    var level: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.logLevel, LogLevelRequest(level: level))
        try show(reply, as: LogLevelReply.self) { reply, _ in
            let settings =
                reply.level == reply.settingsLevel
                ? "" : " (settings: \(printable(reply.settingsLevel)))"
            return printable(reply.level) + settings + "\n"
        }
        return .ok
    }
}
