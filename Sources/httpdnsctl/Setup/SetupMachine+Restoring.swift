// SPDX-License-Identifier: Apache-2.0
import Glibc

extension SetupMachine {
    private typealias Paths = ResolverFacts.Paths

    /// Restores all files, notifies the services, and removes the journal.
    ///
    /// A notified service may write resolv.conf: NetworkManager without a connection writes a file
    /// without nameservers. Then resolv.conf is restored again. If the restored file still has no
    /// nameservers, although the original has some, throws and keeps the journal.
    func restore(_ journal: SetupJournal) throws(Failure) {
        let journal = try replacingLostLink(in: journal)
        for entry in journal.entries.reversed() {
            try tree.removeLeftover(of: entry.path)
            if try tree.state(entry.path) != entry.before {
                try tree.put(entry.before, at: entry.path)
            }
        }
        // A failed command is not fatal: services read the restored files at their next start.
        var fault: Failure?
        for command in journal.undo ?? journal.commands where fault == nil {
            do throws(Failure) {
                try completion([command])
            } catch {
                // systemctl did not find the unit: the service was removed.
                if !error.message.hasSuffix(" not found.") { fault = error }
            }
            try restoreNameservers(journal)
        }
        if tree.isThisMachine, !(journal.undo ?? journal.commands).isEmpty {
            usleep(Self.settling)
            try restoreNameservers(journal)
        }
        try tree.put(.absent, at: SetupJournal.path)
        for directory in journal.directories.reversed() { try tree.removeDirectory(directory) }
        if let fault {
            throw Failure(
                message: "all files were restored, but \(fault.message)",
                hint: fault.hint
            )
        }
    }

    /// Returns the journal; if the original resolv.conf would be a broken link, it becomes a file.
    ///
    /// The link is broken if the program that wrote its target was removed after the setup.
    func replacingLostLink(in journal: SetupJournal) throws(Failure) -> SetupJournal {
        guard let index = journal.entries.firstIndex(where: { $0.path == Paths.resolvConf }),
            journal.entries[index].before.kind == .link
        else { return journal }
        let facts = try ResolverFacts(of: tree, before: journal)
        // A tree without processes is a machine image, in which all files in /run are missing.
        guard facts.running != nil, !tree.exists(facts.resolvedPath),
            let owner = ResolverOwner(placedBy: facts), !owner.isAlive(facts)
        else { return journal }
        var journal = journal
        let now = try tree.state(Paths.resolvConf)
        let text = tree.text(Paths.resolvConf) ?? ""
        let servers = ResolverFacts.lastServers(in: tree)
        var file = FileState.file(ResolvConfText(text).withDefaultServers(servers))
        (file.user, file.group) = (now.user, now.group)
        journal.entries[index].before = file
        return journal
    }

    /// Microseconds in which a notified service may still write resolv.conf.
    private static let settling: UInt32 = 1_000_000

    /// Restores resolv.conf again if another program has removed all nameservers.
    private func restoreNameservers(_ journal: SetupJournal) throws(Failure) {
        guard let entry = journal[Paths.resolvConf], !hasNameserver,
            try tree.state(entry.path) != entry.before
        else { return }
        try tree.put(entry.before, at: entry.path)
        guard entry.before.kind == .file, !hasNameserver,
            !ResolvConfText(entry.before.text).nameservers.isEmpty
        else { return }
        throw Failure(
            message: "another program removes the nameservers from \(entry.path); "
                + "\(SetupJournal.path) has the original",
            hint: "stop this program, then run `httpdnsctl setup revert --force`"
        )
    }

    private var hasNameserver: Bool {
        !ResolvConfText(tree.text(Paths.resolvConf) ?? "").nameservers.isEmpty
    }
}
