// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct Httpdnsctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdnsctl",
        abstract: "Inspect and control a running httpdnsd.",
        usage: "httpdnsctl [--socket PATH] [--json] COMMAND ...",
        discussion: """
            TERMS
              vendor    cloud service that resolves names over HTTP(S) (HTTPDNS)
              upstream  resolver to which the daemon forwards names that have no vendor
              route     setting that maps domains to vendors or upstreams
              fleet     machines that share answers of vendors through a Redis server
              unit      what a vendor bills: one or more for each request or name

            EXIT CODES
              0  ok
              1  the command failed, or found nothing
              2  the command line is wrong
              3  the daemon could not be reached
              4  the daemon is degraded (status), or a check failed (doctor)

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
            StatusVerb.self, StatsVerb.self, TopVerb.self, BillVerb.self, ProveVerb.self,
            WatchVerb.self,
            LookupVerb.self, ExplainVerb.self, ResolveVerb.self, DumpVerb.self, FlushVerb.self,
            PauseVerb.self,
            ResumeVerb.self, ReloadVerb.self, CheckVerb.self, SettingsVerb.self,
            RoutesVerb.self, LogLevelVerb.self,
            PortalVerb.self,
            SetupVerb.self, DoctorVerb.self, VersionVerb.self, CompletionVerb.self,
        ]
    )

    @OptionGroup var before: OptionsBefore

    func run() throws {
        throw ValidationError("No command given. Try `httpdnsctl status` or `httpdnsctl --help`.")
    }
}

/// Global options that the user writes before the subcommand.
///
/// The parser would ignore values if the command and its subcommand both used ``Options``.
struct OptionsBefore: ParsableArguments {
    @Option(name: .long, help: .socket, completion: .file())
    var socket: String?

    @Flag(name: .long, help: "Print the result as JSON with sorted keys.")
    var json = false
}

struct Options: ParsableArguments {
    @ParentCommand var root: Httpdnsctl

    @Option(name: .long, help: .socket, completion: .file())
    var socket: String?

    @Flag(name: .long, help: "Print the result as JSON with sorted keys.")
    var json = false

    var path: String { socket ?? root.before.socket ?? Product.defaultSocket }
    var printsJSON: Bool { json || root.before.json }
}

extension ArgumentHelp {
    fileprivate static var socket: Self {
        Self("Path of the control socket. (default: \(Product.defaultSocket))", valueName: "path")
    }
}
