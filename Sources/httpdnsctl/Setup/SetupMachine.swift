// SPDX-License-Identifier: Apache-2.0
import Glibc

extension FileState {
    /// Owner of new files: root, or the user who prepares the image of another machine.
    static var owner: (user: UInt32, group: UInt32) { (geteuid(), getegid()) }
}

struct SetupMachine {
    let tree: FileTree
    var run: ([String]) -> String? = Self.runCommand

    /// Returns why the daemon no longer resolves names after a change; nil if it resolves names.
    var resolution: (SetupPlan) -> String? = { _ in nil }

    /// False for a machine image, which has no services to notify.
    var isLive: Bool

    init(tree: FileTree) {
        self.tree = tree
        isLive = tree.isThisMachine
    }

    private static let commandLimit = Duration.seconds(30)

    enum Result: String, Encodable, Sendable {
        case planned, applied, unchanged, reverted
        case nothingToRevert = "nothing-to-revert"
        case defaultsRestored = "defaults-restored"
    }

    // MARK: - Applying

    /// Applies a plan; if a step fails, restores the files and the setup journal.
    func apply(_ plan: SetupPlan, force: Bool) throws(Failure) -> Result {
        let recorded = try SetupJournal.read(from: tree, ignoringDamage: force)
        let known = force ? try recorded?.withoutReplaced(in: tree) : recorded
        let old = try SetupJournal.orDefaults(known, in: tree)
        let journal = journal(for: plan, after: old)
        // If the administrator edited the file of saved nameservers, this file stays as it is.
        let isEdited = try hasEditedServers(since: old)
        let entries = journal.entries.filter {
            !isEdited || $0.path != ResolverFacts.Paths.networkServers
        }
        var isDone = known == journal
        var changed: [String] = []
        for entry in entries {
            let now = try tree.state(entry.path)
            if now == entry.after { continue }
            isDone = false
            if now != entry.before, now != old[entry.path]?.after { changed.append(entry.path) }
        }
        try removeLeftovers()
        // Even if all files are correct, `fault` can report a service that has not read the files.
        if isDone, fault(in: plan) == nil { return .unchanged }
        guard changed.isEmpty || force else { throw Self.changedSince(changed) }
        for entry in entries where try tree.state(entry.path) != entry.after {
            try checkWritable(entry.path)
        }
        try checkWritable(SetupJournal.path)
        try journal.checkSize()

        let made = try tree.makeDirectories(for: SetupJournal.path)
        return try tree.locked(FileTree.directory(of: SetupJournal.path)) { () throws(Failure) in
            var journal = journal
            // A revert removes the directories in `directories`. The list contains the journal's
            // directory even if an interrupted earlier run created this directory.
            let own = FileTree.directory(of: SetupJournal.path)
            journal.directories = known?.directories ?? (made.contains(own) ? made : [own])
            for entry in journal.entries where entry.after.kind != .absent {
                journal.directories += tree.missingDirectories(for: entry.path).filter {
                    !journal.directories.contains($0)
                }
            }
            let earlier = try rollback(of: journal, to: recorded, copies: changed)
            try SetupJournal.setAsideDamaged(in: tree)
            try keepCopies(of: changed)
            try journal.write(to: tree)
            do throws(Failure) {
                for entry in entries where try tree.state(entry.path) != entry.after {
                    _ = try tree.makeDirectories(for: entry.path)
                    try tree.put(entry.after, at: entry.path)
                }
                try completion(of: plan)
                try check(entries)
                if let fault = resolution(plan) { throw Failure(message: fault) }
            } catch {
                do throws(Failure) {
                    let faults = try restore(earlier)
                    try finish(earlier, leaving: recorded)
                    if let fault = faults.first { throw Failure(message: fault) }
                } catch let second {
                    throw Failure(
                        message: "\(error.message); cannot restore all files: "
                            + second.message,
                        hint: "fix the cause, then run `httpdnsctl setup revert`"
                    )
                }
                throw Failure(
                    message: error.message + "; all files were restored",
                    hint: error.hint
                )
            }
            return .applied
        }
    }

    private func rollback(
        of journal: SetupJournal,
        to recorded: SetupJournal?,
        copies: [String]
    ) throws(Failure) -> SetupJournal {
        var earlier = journal
        earlier.entries = []
        for path in journal.entries.map(\.path) + copies.map({ $0 + Self.copySuffix }) {
            let now = try tree.state(path)
            if now.kind != .other {
                earlier.entries.append(.init(path: path, before: now, after: now))
            }
        }
        guard let recorded else { return earlier }
        // Adds the commands of the new plan, because it may have changed other services.
        let commands = journal.undo ?? journal.commands
        earlier.undo = commands + recorded.commands.filter { !commands.contains($0) }
        earlier.directories.removeAll(where: recorded.directories.contains)
        return earlier
    }

    private func journal(for plan: SetupPlan, after old: SetupJournal) -> SetupJournal {
        let saved = ResolverFacts.Paths.networkServers
        var entries = plan.changes.map { change in
            var after = change.after
            // Keeps nameservers that an earlier setup saved with `chosenMark`. If the network now
            // offers the same nameservers, the new plan would save them without the mark.
            if change.path == saved, old[ResolverFacts.Paths.resolvConf] != nil,
                let chosen = old[saved]?.after, chosen.text.contains(SetupPlan.chosenMark)
            {
                after = chosen
            }
            if change.before.kind != .file { (after.user, after.group) = FileState.owner }
            return SetupJournal.Entry(path: change.path, before: change.before, after: after)
        }
        // If an earlier setup changed a file that this plan does not change, restores the file.
        // Exception: the file of saved nameservers stays until the revert, because possibly no
        // other file contains these nameservers. If this file has `resolvedMark`, it is also
        // restored, because the settings of systemd-resolved contain the nameservers.
        for entry in old.entries where !entries.contains(where: { $0.path == entry.path }) {
            let isSaved =
                entry.path == saved && entry.after.isFromSetup
                && !entry.after.text.contains(SetupPlan.resolvedMark)
            let after = isSaved ? entry.after : entry.before
            entries.append(.init(path: entry.path, before: entry.before, after: after))
        }
        return SetupJournal(
            owner: plan.owner.name,
            entries: entries,
            directories: old.directories,
            commands: plan.commands,
            undo: plan.undo
        )
    }

    // MARK: - Reverting

    /// Files that a revert restores, and notes on changed files.
    struct Reversal {
        var journal: SetupJournal

        /// Files to copy before the revert, because the setup journal lacks their present content.
        var copies: [String] = []

        var notes: [String] = []

        var isDefault = false
    }

    /// Returns the planned revert; nil if there is no setup.
    ///
    /// With `force`, all files are restored. Without a setup journal, all files get default
    /// contents. In all other cases, ``SetupJournal/Entry/restored(from:_:)`` decides about a
    /// changed file.
    func reversal(force: Bool) throws(Failure) -> Reversal? {
        let known = try SetupJournal.read(from: tree, ignoringDamage: force)
        let journal = try SetupJournal.orDefaults(known, in: tree)
        guard !journal.entries.isEmpty || tree.exists(SetupJournal.path) else { return nil }
        var reversal = Reversal(journal: journal, isDefault: known == nil)
        reversal.journal.entries = []
        for var entry in journal.entries {
            let now = try tree.state(entry.path)
            if now != entry.before, now != entry.after || reversal.isDefault {
                let kept =
                    force || reversal.isDefault
                    ? entry.before : entry.restored(from: now, journal.ownServers)
                guard let kept else {
                    if now.kind == .absent { continue }
                    reversal.notes.append(
                        "\(entry.path) was changed since the setup, and stays as it is"
                    )
                    continue
                }
                entry.before = kept
                if now.kind != .absent, now.kind != .other,
                    entry.path != ResolverFacts.Paths.networkServers
                {
                    reversal.copies.append(entry.path)
                    reversal.notes.append(
                        entry.path + (reversal.isDefault ? ":" : " was changed since the setup:")
                            + " a copy is kept in " + entry.path + Self.copySuffix
                    )
                }
            }
            reversal.journal.entries.append(entry)
        }
        return reversal
    }

    func revert(force: Bool) throws(Failure) -> (result: Result, notes: [String]) {
        try removeLeftovers()
        guard let reversal = try reversal(force: force) else { return (.nothingToRevert, []) }
        let journal = reversal.journal
        guard force || !reversal.isDefault else {
            let paths = journal.entries.map(\.path).joined(separator: ", ")
            throw Failure(
                message: "the original contents of \(paths) are not in the setup journal",
                hint: "`httpdnsctl setup revert --force` writes defaults to these files; "
                    + "--dry-run shows the defaults"
            )
        }
        for entry in journal.entries where try tree.state(entry.path) != entry.before {
            try checkWritable(entry.path)
        }
        try checkWritable(SetupJournal.path)
        var notes = reversal.notes
        try tree.locked(FileTree.directory(of: SetupJournal.path)) { () throws(Failure) in
            let known = try SetupJournal.read(from: tree, ignoringDamage: force) ?? journal
            let servers = try KnownServers(in: tree, edited: hasEditedServers(since: known))
            try SetupJournal.setAsideDamaged(in: tree)
            try keepCopies(of: reversal.copies)
            notes += try restore(journal)
            if let note = try completeNameservers(known, from: servers) { notes.append(note) }
            if let note = try noteOnOwnServers(known) { notes.append(note) }
            try finish(journal)
        }
        return (reversal.isDefault ? .defaultsRestored : .reverted, notes)
    }

    func hasEditedServers(since journal: SetupJournal) throws(Failure) -> Bool {
        guard let entry = journal[ResolverFacts.Paths.networkServers] else { return false }
        let now = try tree.state(entry.path)
        return now != entry.after && now != entry.before
            && !ResolvConfText(now.text).networkServers.isEmpty
    }

    /// Suffix of the copy that setup or a revert makes before it replaces a changed file.
    static let copySuffix = ".httpdnsd-replaced"

    private func keepCopies(of paths: [String]) throws(Failure) {
        for path in paths {
            let state = try tree.state(path)
            guard state.kind != .absent, state.kind != .other else { continue }
            try tree.put(state, at: path + Self.copySuffix)
        }
    }

    // MARK: - Details

    /// Removes temporary journal files of an interrupted run, and the empty directory of the
    /// journal.
    ///
    /// The lock ensures that no other run is active.
    private func removeLeftovers() throws(Failure) {
        let directory = FileTree.directory(of: SetupJournal.path)
        let paths = [SetupJournal.path, SetupJournal.damagedPath]
        guard
            paths.contains(where: tree.hasLeftover)
                || tree.exists(directory) && tree.names(in: directory).isEmpty
        else { return }
        try tree.locked(directory) { () throws(Failure) in
            for path in paths { try tree.removeLeftover(of: path) }
            try tree.removeDirectory(directory)
        }
    }

    private func checkWritable(_ path: String) throws(Failure) {
        do throws(Failure) {
            try tree.checkWritable(path)
        } catch {
            throw Failure(message: error.message + "; nothing was changed", hint: error.hint)
        }
    }

    private func check(_ entries: [SetupJournal.Entry]) throws(Failure) {
        for entry in entries where try tree.state(entry.path) != entry.after {
            throw Failure(message: "another program overwrote \(entry.path)")
        }
    }

    /// Runs the commands of the plan, and checks that programs then use the daemon.
    ///
    /// Ignores a failure of the command resolvconf if resolv.conf is correct: the cause may be a
    /// hook of another package.
    private func completion(of plan: SetupPlan) throws(Failure) {
        do throws(Failure) {
            try completion(plan.commands)
        } catch {
            guard plan.owner == .resolvconf || plan.owner == .openresolv, fault(in: plan) == nil
            else { throw error }
        }
        if let fault = fault(in: plan) { throw Failure(message: fault) }
    }

    private func fault(in plan: SetupPlan) -> String? {
        guard tree.isThisMachine, plan.servers.allSatisfy({ $0.port == 53 }) else { return nil }
        let asksResolved =
            plan.owner == .resolved
            && !plan.changes.contains { $0.path == ResolverFacts.Paths.resolvConf }
        let path =
            asksResolved
            ? ResolverFacts.Paths.resolved + "/resolv.conf" : ResolverFacts.Paths.resolvConf
        let first = ResolvConfText(tree.text(path) ?? "").nameservers.first
        guard let first else { return "\(path) has no nameserver after the setup" }
        guard let server = plan.servers.first(where: { "\($0.address)" == first }) else {
            return "the first nameserver in \(path) is still \(first): "
                + "\(plan.owner.name) did not apply the change"
        }
        return asksResolved ? SetupServers.faultOfStub(before: server) : nil
    }

    func completion(_ commands: [[String]]) throws(Failure) {
        guard isLive else { return }
        for command in commands {
            guard let fault = run(command) else { continue }
            throw Failure(message: "'\(command.joined(separator: " "))' failed: \(fault)")
        }
    }

    private static func runCommand(_ command: [String]) -> String? {
        guard let outcome = Subprocess.run(command, within: commandLimit) else {
            return "program not found"
        }
        guard let status = outcome.status else {
            return "timed out after \(commandLimit.components.seconds) s"
        }
        guard status != 0 else { return nil }
        let line = outcome.output.split(separator: "\n").last.map(String.init)
        return line ?? "exit code \(status)"
    }

    private static func changedSince(_ paths: [String]) -> Failure {
        Failure(
            message: "these files were changed since the setup: \(paths.joined(separator: ", "))",
            hint:
                "`httpdnsctl setup --dry-run` shows the differences; --force replaces the files"
        )
    }
}
