// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl setup`.
struct SetupVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Point this machine's programs at the daemon, or take that back.",
        discussion: """
            Finds out who writes /etc/resolv.conf (systemd-resolved, NetworkManager, openresolv, \
            resolvconf, a DHCP client or nobody) and tells that one, so that it stays. What was there \
            is kept in /var/lib/httpdnsd-setup; `revert` puts it back exactly. Nothing is changed \
            unless the daemon answers on the address that it listens on, and resolves a name: it is \
            asked for one below example.com that does not exist.

            EXAMPLES
              httpdnsctl setup --dry-run
              httpdnsctl setup apply
              httpdnsctl setup revert
            """
    )

    /// What is to be done.
    enum Action: String, ExpressibleByArgument, CaseIterable {
        case apply, revert
    }

    @OptionGroup var options: Options

    @Argument(help: "apply or revert; may be left out with --dry-run.")
    var action: Action?

    @Flag(name: .long, help: "Show what would be done, and do nothing.")
    var dryRun = false

    @Flag(
        name: .long,
        help: "Continue if no daemon answers or resolves, or a file was changed."
    )
    var force = false

    @Flag(
        name: .long,
        help: "With systemd-resolved: programs ask the daemon itself, and its stub is switched off."
    )
    var noStub = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The daemon's address, instead of what it tells; may be repeated.",
            valueName: "address"
        )
    )
    var server: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Do it to the files below a directory; no service is told.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var root = "/"

    func validate() throws {
        guard action != nil || dryRun else {
            throw ValidationError("Say 'apply', 'revert' or --dry-run.")
        }
        for text in server where ServerAddress(text) == nil {
            throw ValidationError("\(text) is no address, such as 127.0.0.1 or [::1]:53.")
        }
        guard root.hasPrefix("/") else {
            throw ValidationError("--root takes an absolute path.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let machine = SetupMachine(tree: FileTree(root: root))
        return action == .revert
            ? try revert(machine) : try apply(to: machine, knowing: Self.status(of: client))
    }

    // MARK: - Private

    /// Plans, and does it if asked to.
    private func apply(
        to machine: SetupMachine,
        knowing status: Result<StatusReply, Failure>
    ) throws(Failure) -> ExitStatus {
        let facts = try ResolverFacts(
            of: machine.tree,
            before: SetupJournal.read(from: machine.tree)
        )
        let found = SetupServers(given: server.compactMap { ServerAddress($0) }, status: status)
        var plan = SetupPlan(for: facts, servers: found.servers, keepsStub: !noStub)
        plan.obstacles = found.obstacles + plan.obstacles
        plan.notes += Self.notes(on: status)
        let isBlocked = plan.obstacles.contains { !force || !$0.yieldsToForce }
        guard action == .apply, !dryRun, !isBlocked else {
            try show(SetupReport(plan, result: .planned))
            return isBlocked ? .failed : .ok
        }
        let result = try machine.apply(plan, force: force)
        if result == .unchanged { plan.changes = [] }
        try show(SetupReport(plan, result: result))
        return .ok
    }

    /// Names the servers that will see the machine's queries.
    private static func notes(on status: Result<StatusReply, Failure>) -> [String] {
        guard let status = try? status.get() else { return [] }
        let vendors = status.vendors.map { "\($0.name) (\($0.kind), for its routes)" }
        let upstreams = status.upstreams.map { upstream in
            "\(upstream.name) (\(upstream.url)\(upstream.protected ? "" : ", not encrypted"))"
        }
        let all = vendors + upstreams
        guard !all.isEmpty else { return [] }
        return ["the daemon will send this machine's queries to " + all.joined(separator: ", ")]
    }

    /// Takes a setup back.
    private func revert(_ machine: SetupMachine) throws(Failure) -> ExitStatus {
        let journal = try SetupJournal.read(from: machine.tree)
        let result = dryRun ? .planned : try machine.revert(force: force)
        try show(SetupReport(reverting: journal, result: result))
        return .ok
    }

    /// What the daemon says of itself, or why it says nothing.
    static func status(of client: ControlClient) -> Result<StatusReply, Failure> {
        do throws(Failure) {
            return .success(try client.call(.status).checked(as: StatusReply.self))
        } catch {
            return .failure(error)
        }
    }

    /// Prints a report.
    private func show(_ report: SetupReport) throws(Failure) {
        try Output.write(
            options.printsJSON
                ? try JSONOutput.text(report, indented: true) + "\n"
                : report.text(Output.palette)
        )
    }
}
