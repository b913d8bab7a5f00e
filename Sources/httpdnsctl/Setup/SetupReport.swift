// SPDX-License-Identifier: Apache-2.0

/// What `setup` tells: the plan, and what became of it.
struct SetupReport: Encodable {
    /// What was done.
    var result: SetupMachine.Result

    /// Who writes `/etc/resolv.conf`.
    var owner: String

    /// The servers that will be asked.
    var servers: [String] = []

    /// The files.
    var changes: [Change] = []

    /// The commands that tell services of the files.
    var commands: [[String]] = []

    /// What the user should know.
    var notes: [String] = []

    /// What is in the way.
    var obstacles: [SetupPlan.Obstacle] = []

    /// A file that is written.
    struct Change: Encodable {
        var path: String
        /// What was there, and what will be.
        var before, after: FileState.Kind
        /// As `diff -u` shows it.
        var diff: [String]
    }

    /// Tells of a plan.
    init(_ plan: SetupPlan, result: SetupMachine.Result) {
        self.result = result
        owner = plan.owner.name
        servers = plan.servers.map(\.description)
        changes = plan.changes.map { Self.change($0.path, from: $0.before, to: $0.after) }
        commands = plan.commands
        notes = plan.notes
        obstacles = plan.obstacles
    }

    /// Tells of taking back what a journal says.
    init(reverting journal: SetupJournal?, result: SetupMachine.Result) {
        self.result = result
        owner = journal?.owner ?? ""
        changes = (journal?.entries ?? []).reversed().map {
            Self.change($0.path, from: $0.after, to: $0.before)
        }
        commands = journal?.undo ?? journal?.commands ?? []
    }

    /// A file that goes from one state to another.
    private static func change(
        _ path: String,
        from old: FileState,
        to new: FileState
    ) -> Change {
        Change(
            path: path,
            before: old.kind,
            after: new.kind,
            diff: DiffText.lines(path, from: old, to: new)
        )
    }

    // MARK: - For people

    /// The report as text.
    func text(_ palette: Palette) -> String {
        var table = Table("", "")
        if !owner.isEmpty { table.add("resolv.conf is written by", Table.Cell(owner)) }
        if !servers.isEmpty {
            table.add("names are asked of", Table.Cell(servers.joined(separator: ", ")))
        }
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

    /// What was done, and what next.
    private var conclusion: String {
        switch result {
        case .planned where !obstacles.isEmpty: "nothing was changed"
        case .planned:
            changes.isEmpty
                ? "nothing needs to change" : "nothing was changed; 'apply' or 'revert' does it"
        case .applied:
            "done; 'httpdnsctl doctor' checks it, 'httpdnsctl setup revert' takes it back"
        case .unchanged: "everything is so already"
        case .reverted: "done; everything is as it was before the setup"
        case .nothingToRevert: "nothing was set up"
        }
    }
}
