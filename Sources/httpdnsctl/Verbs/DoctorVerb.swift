// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DNSWire
import Glibc

/// `httpdnsctl doctor`.
struct DoctorVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the daemon and everything around it, with the fix for what is wrong.",
        discussion: """
            Looks at who holds port 53, what getaddrinfo really asks, containers, vendors and \
            upstreams, the clock, certificates, settings, secrets and the unit. Works when the daemon \
            is down. Takes at most about 10 s, sees more as root, and sends nothing to anybody else \
            unless --network or --name says so.

            Exits with 4 if there is a warning or a failure.

            EXAMPLES
              httpdnsctl doctor
              httpdnsctl doctor --network --name www.example.com
              httpdnsctl doctor --json | jq '.findings[] | select(.state == "failure")'
            """
    )

    @OptionGroup var options: Options

    @Flag(
        name: .long,
        help: "Also ask addresses that nobody has: an answer shows that port 53 is intercepted."
    )
    var network = false

    @Option(name: .long, help: "Compare getaddrinfo with the daemon by this name.")
    var name: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The settings. (default: those that the daemon reads)",
            valueName: "path"
        ),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Look at the files below a directory only.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var root = "/"

    func validate() throws {
        if let name, (try? Name(name)) == nil {
            throw ValidationError("\(name) is no name.")
        }
        for path in [root, config ?? "/"] where !path.hasPrefix("/") {
            throw ValidationError("\(path) is no absolute path.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var client = client
        client.limit = .seconds(3)
        var gatherer = Gatherer(
            tree: FileTree(root: root),
            client: client,
            wishes: Gatherer.Wishes(
                name: name.flatMap { try? Name($0) },
                usesNetwork: network,
                settings: config
            )
        )
        if isatty(STDERR_FILENO) == 1, !options.printsJSON {
            // The line is written over by the next one, and cleared by an empty one.
            gatherer.progress = { Output.progress($0.isEmpty ? "" : $0 + " …") }
        }
        let report = DoctorReport(Check.examine(try gatherer.surroundings()))
        try Output.write(
            options.printsJSON
                ? try JSONOutput.text(report, indented: true) + "\n"
                : report.text(Output.palette)
        )
        return report.state == .ok ? .ok : .degraded
    }
}
