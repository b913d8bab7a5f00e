// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct SetupVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Make this machine's programs use the daemon, or revert this change.",
        usage: "httpdnsctl setup [apply | revert] [OPTION ...]",
        discussion: """
            Detects the manager of /etc/resolv.conf (systemd-resolved, NetworkManager, openresolv, \
            resolvconf, a DHCP client, or none) and configures this manager, so that the change \
            persists. The original files are saved in /var/lib/httpdnsd-setup; `revert` restores \
            them, except files that were edited since. Before a change, the command queries the \
            daemon for random names below example.com and example.org. If the daemon does not \
            answer, or answers with an error, nothing is changed.

            EXAMPLES
              httpdnsctl setup --dry-run
              httpdnsctl setup apply
              httpdnsctl setup revert
            """
    )

    enum Action: String, ExpressibleByArgument, CaseIterable {
        case apply, revert
    }

    @OptionGroup var options: Options

    @Argument(help: "apply or revert; optional with --dry-run.")
    var action: Action?

    @Flag(name: .long, help: "Show the changes without making them.")
    var dryRun = false

    @Flag(
        name: .long,
        help: "Continue after a failed check, and replace files edited since setup."
    )
    var force = false

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        help: "Keep systemd-resolved between the programs and the daemon."
    )
    var stub = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Address of the daemon, if it is not detected; may be repeated.",
            valueName: "address"
        )
    )
    var server: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Change files below this directory; services restart only if it is /.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var root = "/"

    func validate() throws {
        guard action != nil || dryRun else {
            throw ValidationError("Give apply, revert or --dry-run.")
        }
        for text in server where ServerAddress(text) == nil {
            throw ValidationError(
                "--server requires an address, such as 127.0.0.1 or [::1]:53, not \(text)."
            )
        }
        guard root.hasPrefix("/") else {
            throw ValidationError("--root requires an absolute path.")
        }
    }

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let machine = SetupMachine(tree: FileTree(root: root))
        return action == .revert
            ? try revert(machine) : try apply(to: machine, knowing: Self.status(of: client))
    }

    // MARK: - Private

    private func apply(
        to machine: SetupMachine,
        knowing status: Result<StatusReply, Failure>
    ) throws(Failure) -> ExitStatus {
        let recorded = try SetupJournal.read(from: machine.tree, ignoringDamage: force)
        let known = force ? try recorded?.withoutReplaced(in: machine.tree) : recorded
        let facts = try ResolverFacts(of: machine.tree, before: known)
        let found = SetupServers(given: server.compactMap { ServerAddress($0) }, status: status)
        var plan = SetupPlan(for: facts, servers: found.servers, keepsStub: stub)
        plan.obstacles = found.obstacles + plan.obstacles
        plan.notes += Self.notes(on: status)
        if known == nil, machine.tree.isThisMachine,
            facts.present.contains(ResolverFacts.Paths.systemd)
        {
            let obstacle = SetupServers.obstacle(
                at: .ofDaemon(within: .seconds(2)),
                hasSocket: SetupServers.isSocketEnabled()
            )
            if let obstacle { plan.obstacles.append(obstacle) }
        }
        let isBlocked = plan.obstacles.contains { !force || !$0.yieldsToForce }
        guard action == .apply, !dryRun, !isBlocked else {
            try show(SetupReport(plan, result: .planned))
            return isBlocked ? .failed : .ok
        }
        var machine = machine
        if found.obstacles.isEmpty, machine.tree.isThisMachine {
            machine.resolution = { SetupServers.faultAfterwards($0) }
        }
        let result = try machine.apply(plan, force: force)
        if result == .unchanged { plan.changes = [] }
        try show(SetupReport(plan, result: result))
        return .ok
    }

    private static func notes(on status: Result<StatusReply, Failure>) -> [String] {
        guard let status = try? status.get() else { return [] }
        let vendors = status.vendors.map { vendor in
            "\(vendor.name) (\(vendor.kind), for the domains of its routes)"
        }
        let upstreams = status.upstreams.map { upstream in
            "\(upstream.name) (\(upstream.url)\(upstream.protected ? "" : ", not encrypted"))"
        }
        let all = vendors + upstreams
        guard !all.isEmpty else { return [] }
        return ["the daemon will send this machine's queries to " + all.joined(separator: ", ")]
    }

    private func revert(_ machine: SetupMachine) throws(Failure) -> ExitStatus {
        let reversal = try machine.reversal(force: force)
        let shown = try reversal.map { reversal throws(Failure) in
            try machine.forecast(reversal.journal)
        }
        let planned = SetupMachine.Result.planned
        let outcome =
            dryRun
            ? (result: reversal == nil ? .nothingToRevert : planned, notes: reversal?.notes ?? [])
            : try machine.revert(force: force)
        var report = SetupReport(reverting: shown, result: outcome.result)
        report.notes = outcome.notes
        try show(report)
        return .ok
    }

    static func status(of client: ControlClient) -> Result<StatusReply, Failure> {
        do throws(Failure) {
            return .success(try client.call(.status).checked(as: StatusReply.self))
        } catch {
            return .failure(error)
        }
    }

    private func show(_ report: SetupReport) throws(Failure) {
        try Output.write(
            options.printsJSON
                ? try JSONOutput.text(report, indented: true) + "\n"
                : report.text(Output.palette)
        )
    }
}
