// SPDX-License-Identifier: Apache-2.0

struct SetupReport: Encodable {
    var result: SetupMachine.Result
    var owner: String
    var servers: [String] = []
    var changes: [Change] = []
    var commands: [[String]] = []
    var notes: [String] = []
    var obstacles: [SetupPlan.Obstacle] = []

    /// `apply` or `revert`; not in the JSON text.
    private var action = "apply"

    private enum CodingKeys: CodingKey {
        case result, owner, servers, changes, commands, notes, obstacles
    }

    struct Change: Encodable {
        var path: String
        var before, after: FileState.Kind
        var diff: [String]
    }

    init(_ plan: SetupPlan, result: SetupMachine.Result) {
        self.result = result
        owner = plan.owner.name
        servers = plan.servers.map(\.description)
        changes = plan.changes.map { Self.change($0.path, from: $0.before, to: $0.after) }
        commands = plan.commands
        notes = plan.notes
        obstacles = plan.obstacles
    }

    init(reverting journal: SetupJournal?, result: SetupMachine.Result) {
        self.result = result
        action = "revert"
        owner = journal?.owner ?? ""
        changes = (journal?.entries ?? []).reversed().map {
            Self.change($0.path, from: $0.after, to: $0.before)
        }
        if result != .nothingToRevert { commands = journal?.undo ?? journal?.commands ?? [] }
    }

    private static func change(_ path: String, from old: FileState, to new: FileState) -> Change {
        Change(
            path: path,
            before: old.kind,
            after: new.kind,
            diff: DiffText.lines(path, from: old, to: new)
        )
    }

    // MARK: - For people

    func text(_ palette: Palette) -> String {
        var table = Table("", "")
        if !owner.isEmpty { table.add("resolv.conf manager", ResolverOwner.label(owner)) }
        if !servers.isEmpty { table.add("nameservers", servers.joined(separator: ", ")) }
        var text = table.text(palette)
        for change in changes {
            text += "\n"
            for line in change.diff {
                let tone: Palette.Tone =
                    line.hasPrefix("---") || line.hasPrefix("+++")
                    ? .heading : line.hasPrefix("+") ? .good : line.hasPrefix("-") ? .bad : .plain
                text += palette.paint(printable(line), tone) + "\n"
            }
        }
        if !commands.isEmpty { text += "\n" }
        for command in commands { text += "then: \(printable(command.joined(separator: " ")))\n" }
        if !notes.isEmpty || !obstacles.isEmpty { text += "\n" }
        for note in notes { text += palette.paint("note", .doubtful) + ": \(printable(note))\n" }
        for obstacle in obstacles {
            text += palette.paint("obstacle", .bad) + ": \(printable(obstacle.what))\n"
            text += "    fix: \(printable(obstacle.fix))\n"
        }
        return text + (text.isEmpty ? "" : "\n") + conclusion + "\n"
    }

    private var conclusion: String {
        switch result {
        case .planned where !obstacles.isEmpty: "nothing was changed"
        case .planned:
            changes.isEmpty
                ? "already configured; nothing to do"
                : "dry run, nothing was changed; "
                    + "run `httpdnsctl setup \(action)` to make these changes"
        case .applied: "done; check with `httpdnsctl doctor`, undo with `httpdnsctl setup revert`"
        case .unchanged: "already configured; nothing to do"
        case .reverted:
            notes.isEmpty ? "done; all files are as before the setup" : "done; see the notes"
        case .defaultsRestored:
            "done; original contents were lost, so defaults were written: check /etc/resolv.conf"
        case .nothingToRevert: "no setup to revert"
        }
    }
}
