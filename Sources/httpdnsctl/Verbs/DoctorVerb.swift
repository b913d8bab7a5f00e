// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DNSWire
import Glibc

struct DoctorVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the daemon and its environment, and suggest fixes.",
        usage: "httpdnsctl doctor [OPTION ...]",
        discussion: """
            Checks port 53, getaddrinfo, containers, vendors and upstreams, the clock, \
            certificates, settings, secrets and the systemd unit. Also works when the daemon is \
            down. Takes at most about 10 s. As root, the command makes more checks. Servers \
            outside the machine are queried only with --network or --name, or if programs use \
            these servers instead of the daemon.

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
        help: "Send queries to addresses without a DNS server, to detect interception of port 53."
    )
    var network = false

    @Option(name: .long, help: "Compare the answers of getaddrinfo and the daemon for this name.")
    var name: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Path of the settings file. (default: the daemon's settings file)",
            valueName: "path"
        ),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Check only the files below this directory, such as a mounted image.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var root = "/"

    func validate() throws {
        if let name, (try? Name(name)) == nil {
            throw ValidationError("\(name) is not a valid name.")
        }
        for path in [root, config ?? "/"] where !path.hasPrefix("/") {
            throw ValidationError("\(path) is not an absolute path.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var client = client
        client.limit = .seconds(3)
        var gatherer = Gatherer(
            tree: FileTree(root: root),
            client: client,
            options: Gatherer.Options(
                name: name.flatMap { try? Name($0) },
                usesNetwork: network,
                settings: config
            )
        )
        if isatty(STDERR_FILENO) == 1, !options.printsJSON {
            // An empty message clears the line.
            gatherer.progress = { Output.progress($0.isEmpty ? "" : $0 + " …") }
        }
        let report = DoctorReport(Check.examine(try gatherer.facts()))
        try Output.write(
            options.printsJSON
                ? try JSONOutput.text(report, indented: true) + "\n"
                : report.text(Output.palette)
        )
        return report.state == .ok ? .ok : .degraded
    }
}
