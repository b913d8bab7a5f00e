// SPDX-License-Identifier: Apache-2.0
import Glibc

extension FileState {
    /// Who this process makes files for: root, but where a tree is prepared for an image.
    static var owner: (user: UInt32, group: UInt32) { (geteuid(), getegid()) }
}

/// A machine that is set up, or that a setup is taken back from.
struct SetupMachine {
    /// Its files.
    let tree: FileTree

    /// How a command is run; nil if all went well, else why not.
    var run: ([String]) -> String? = Self.runCommand

    /// How long a command may take: services restart within a second or two.
    private static let commandLimit = Duration.seconds(30)

    /// What was done.
    enum Result: String, Encodable, Sendable {
        case planned, applied, unchanged, reverted
        case nothingToRevert = "nothing-to-revert"
    }

    // MARK: - Applying

    /// Makes the machine what `plan` says.
    ///
    /// What was there before the first setup is kept: a second one adds to the journal.  If anything
    /// fails, all is put back.
    func apply(_ plan: SetupPlan, force: Bool) throws(Failure) -> Result {
        let old = try SetupJournal.read(from: tree)
        let journal = try journal(for: plan, after: old)
        var isDone = old == journal
        var changed: [String] = []
        for entry in journal.entries {
            let now = try tree.state(entry.path)
            if now == entry.after { continue }
            isDone = false
            if now != entry.before, now != old?[entry.path]?.after { changed.append(entry.path) }
        }
        // Files that are right have no effect if a service was not told, or another program wrote since.
        if isDone, fault(in: plan) == nil { return .unchanged }
        guard changed.isEmpty || force else { throw Self.changedSince(changed) }

        let made = try tree.makeDirectories(for: SetupJournal.path)
        return try tree.locked(FileTree.directory(of: SetupJournal.path)) { () throws(Failure) in
            var journal = journal
            // Its own directory too if a run that was killed has made it.
            let own = FileTree.directory(of: SetupJournal.path)
            journal.directories = old?.directories ?? (made.contains(own) ? made : [own])
            for entry in journal.entries where entry.after.kind != .absent {
                journal.directories += tree.missingDirectories(for: entry.path).filter {
                    !journal.directories.contains($0)
                }
            }
            try journal.write(to: tree)
            do throws(Failure) {
                for entry in journal.entries where try tree.state(entry.path) != entry.after {
                    _ = try tree.makeDirectories(for: entry.path)
                    try tree.put(entry.after, at: entry.path)
                }
                try tell(of: plan)
                try check(journal)
            } catch {
                do throws(Failure) {
                    try restore(journal)
                } catch let second {
                    throw Failure(
                        message: "\(error.message); and what was there is not all back: "
                            + second.message,
                        hint: "repair that, then 'httpdnsctl setup revert'",
                        status: .failed
                    )
                }
                throw Failure(
                    message: error.message + "; everything is as it was",
                    hint: error.hint,
                    status: .failed
                )
            }
            return .applied
        }
    }

    /// The journal of a plan, with what an earlier setup found.
    private func journal(
        for plan: SetupPlan,
        after old: SetupJournal?
    ) throws(Failure) -> SetupJournal {
        var entries = plan.changes.map { change in
            var after = change.after
            if change.before.kind != .file { (after.user, after.group) = FileState.owner }
            return SetupJournal.Entry(path: change.path, before: change.before, after: after)
        }
        // What an earlier plan wrote and this one does not goes back.
        for entry in old?.entries ?? [] where !entries.contains(where: { $0.path == entry.path }) {
            entries.append(.init(path: entry.path, before: entry.before, after: entry.before))
        }
        return SetupJournal(
            owner: plan.owner.name,
            entries: entries,
            directories: old?.directories ?? [],
            commands: plan.commands,
            undo: plan.undo
        )
    }

    // MARK: - Reverting

    /// Puts back what was there before the first setup.
    func revert(force: Bool) throws(Failure) -> Result {
        guard let journal = try SetupJournal.read(from: tree) else { return .nothingToRevert }
        var changed: [String] = []
        for entry in journal.entries {
            let now = try tree.state(entry.path)
            if now != entry.before, now != entry.after { changed.append(entry.path) }
        }
        guard changed.isEmpty || force else { throw Self.changedSince(changed) }
        try tree.locked(FileTree.directory(of: SetupJournal.path)) { () throws(Failure) in
            try restore(journal)
        }
        return .reverted
    }

    /// Restores every file, tells the services, and forgets.
    private func restore(_ journal: SetupJournal) throws(Failure) {
        for entry in journal.entries.reversed() {
            try tree.removeLeftover(of: entry.path)
            if try tree.state(entry.path) != entry.before {
                try tree.put(entry.before, at: entry.path)
            }
        }
        // The files are what counts; a service that cannot be told sees them when it starts.
        let fault: Failure?
        do throws(Failure) {
            try tell(journal.undo ?? journal.commands)
            fault = nil
        } catch {
            fault = error
        }
        try tree.put(.absent, at: SetupJournal.path)
        for directory in journal.directories.reversed() { try tree.removeDirectory(directory) }
        if let fault {
            throw Failure(
                message: "the files are as before the setup, but \(fault.message)",
                hint: fault.hint,
                status: .failed
            )
        }
    }

    // MARK: - Details

    /// Notices a program that has written its own at once.
    private func check(_ journal: SetupJournal) throws(Failure) {
        for entry in journal.entries where try tree.state(entry.path) != entry.after {
            throw Failure(message: "\(entry.path) was changed at once by another", status: .failed)
        }
    }

    /// Tells the services of a plan's files, and checks that programs will ask the daemon.
    ///
    /// resolvconf runs hooks of other packages, too: one that fails is no reason to give up a file that
    /// is right.
    private func tell(of plan: SetupPlan) throws(Failure) {
        do throws(Failure) {
            try tell(plan.commands)
        } catch {
            guard plan.owner == .resolvconf || plan.owner == .openresolv, fault(in: plan) == nil
            else { throw error }
        }
        if let fault = fault(in: plan) { throw Failure(message: fault, status: .failed) }
    }

    /// Why programs would not ask the daemon, though the files of a plan are written; nil if they would,
    /// or that cannot be seen: in the files of another machine.
    private func fault(in plan: SetupPlan) -> String? {
        guard tree.isThisMachine, plan.servers.allSatisfy({ $0.port == 53 }) else { return nil }
        let asksResolved =
            plan.owner == .resolved
            && !plan.changes.contains { $0.path == ResolverFacts.Paths.resolvConf }
        let path =
            asksResolved
            ? ResolverFacts.Paths.resolved + "/resolv.conf" : ResolverFacts.Paths.resolvConf
        let first = ResolvConfText(tree.text(path) ?? "").nameservers.first
        guard let first else { return "\(path) names no server after the setup" }
        let isDaemon = plan.servers.contains { "\($0.address)" == first }
        return isDaemon
            ? nil : "\(path) still names \(first) first: \(plan.owner.name) did not take the change"
    }

    /// Runs the commands, on this machine only: a directory has no services.
    private func tell(_ commands: [[String]]) throws(Failure) {
        guard tree.isThisMachine else { return }
        for command in commands {
            guard let fault = run(command) else { continue }
            throw Failure(
                message: "'\(command.joined(separator: " "))' failed: \(fault)",
                status: .failed
            )
        }
    }

    /// Runs a command.
    private static func runCommand(_ command: [String]) -> String? {
        guard let outcome = Subprocess.run(command, within: commandLimit) else {
            return "there is no such program"
        }
        guard let status = outcome.status else {
            return "no end within \(commandLimit.components.seconds) s"
        }
        guard status != 0 else { return nil }
        let line = outcome.output.split(separator: "\n").last.map(String.init)
        return line ?? "exit code \(status)"
    }

    /// The failure that files are no longer what a setup left.
    private static func changedSince(_ paths: [String]) -> Failure {
        Failure(
            message: "changed since the setup: \(paths.joined(separator: ", "))",
            hint:
                "look at them ('httpdnsctl setup --dry-run' shows the plan); --force replaces them",
            status: .failed
        )
    }
}
