// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// The command line: options, a verb, and the verb's own arguments.
struct Httpdnsctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdnsctl",
        abstract: "See what a running httpdnsd does, and change what it holds.",
        usage: "httpdnsctl [--socket PATH] [--json] VERB ...",
        discussion: """
            EXIT CODES
              0  ok
              1  the verb failed, or found nothing
              2  the command line is wrong
              3  the daemon could not be reached
              4  the daemon is degraded (status), or something around it is (doctor)

            EXAMPLES
              httpdnsctl status
              httpdnsctl stats --watch 2
              httpdnsctl top cost
              httpdnsctl pause tencent
              httpdnsctl check && httpdnsctl reload
              httpdnsctl lookup www.example.com
              httpdnsctl explain www.example.com
              httpdnsctl flush --tree example.com
              httpdnsctl setup --dry-run
              httpdnsctl doctor
              httpdnsctl --json stats | jq '.queries."by-source"'
            """,
        version: "httpdnsctl \(Product.version)",
        subcommands: [
            StatusVerb.self, StatsVerb.self, TopVerb.self, WatchVerb.self, LookupVerb.self,
            ExplainVerb.self, ResolveVerb.self, DumpVerb.self, FlushVerb.self, PauseVerb.self,
            ResumeVerb.self, ReloadVerb.self, CheckVerb.self, SettingsVerb.self,
            RoutesVerb.self, LogLevelVerb.self,
            SetupVerb.self, DoctorVerb.self, VersionVerb.self, CompletionVerb.self,
        ]
    )

    /// The options written before the verb.
    @OptionGroup var before: OptionsBefore

    /// Runs when there is no verb.
    func run() throws {
        throw ValidationError("A verb is missing, such as 'status'.")
    }
}

/// The options every verb has, written before it.
///
/// A type of its own, because the parser hands a group that a verb shares with the root the values
/// of the root alone, and would forget what is written after the verb.
struct OptionsBefore: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The daemon's control socket. (default: \(Product.defaultSocket))",
            valueName: "path"
        ),
        completion: .file()
    )
    var socket: String?

    @Flag(name: .long, help: "Print the reply as JSON with sorted keys.")
    var json = false
}

/// The options every verb has, written after it, together with those before it.
struct Options: ParsableArguments {
    @ParentCommand var root: Httpdnsctl

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The daemon's control socket. (default: \(Product.defaultSocket))",
            valueName: "path"
        ),
        completion: .file()
    )
    var socket: String?

    @Flag(name: .long, help: "Print the reply as JSON with sorted keys.")
    var json = false

    /// The socket to use.
    var path: String { socket ?? root.before.socket ?? Product.defaultSocket }

    /// Whether to print JSON.
    var printsJSON: Bool { json || root.before.json }
}
