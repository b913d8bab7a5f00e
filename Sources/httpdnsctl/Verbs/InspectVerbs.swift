// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl settings`.
struct SettingsVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show the settings that are in force, defaults included.",
        discussion: """
            The text is YAML that the daemon can read again. It is what the running daemon goes by, \
            drop-ins included: files that changed since the last reload do not show. Secrets are \
            named by the place where they are kept.

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

/// `httpdnsctl routes`.
struct RoutesVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "routes",
        abstract: "Show the routes that are in force, or the one of a name.",
        discussion: """
            Each route has its place in the settings, its domains, and the servers it asks. A name \
            that no route covers goes to the upstreams: then the exit code is 1. Nothing is asked.

            EXAMPLES
              httpdnsctl routes
              httpdnsctl routes www.example.com
              httpdnsctl routes --json | jq -r '.routes[].domains[]'
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Only the route of this name.")
    var name: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.routes, RoutesRequest(name: name))
        try show(reply, as: RoutesReply.self, RoutesText.render)
        return .ok
    }
}

/// `httpdnsctl log-level`.
struct LogLevelVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or change the least important level that is logged.",
        discussion: """
            LEVEL is trace, debug, info, notice, warning, error or critical; `settings` gives it back \
            to `log.level` of the settings. The change lasts until then, or until the daemon ends; a \
            reload keeps it.

            EXAMPLES
              httpdnsctl log-level
              httpdnsctl log-level debug
              httpdnsctl log-level settings
            """
    )

    @OptionGroup var options: Options

    @Argument(
        help: "The new level, or `settings`.",
        completion: .list(Completions.levels + ["settings"])
    )
    var level: String?

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.logLevel, LogLevelRequest(level: level))
        try show(reply, as: LogLevelReply.self) { reply, _ in
            let settings =
                reply.level == reply.settingsLevel
                ? "" : " (the settings say \(printable(reply.settingsLevel)))"
            return printable(reply.level) + settings + "\n"
        }
        return .ok
    }
}
