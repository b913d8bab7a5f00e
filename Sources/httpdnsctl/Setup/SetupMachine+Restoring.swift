// SPDX-License-Identifier: Apache-2.0
import Glibc

extension SetupMachine {
    private typealias Paths = ResolverFacts.Paths

    /// Restores all files, notifies the services, and removes the journal.
    ///
    /// A notified service may write resolv.conf: NetworkManager without a connection writes a file
    /// without nameservers. Then resolv.conf is restored again. The journal stays if it has
    /// nameservers, but resolv.conf has none.
    func restore(_ journal: SetupJournal) throws(Failure) {
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
                fault = error
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
                hint: fault.hint,
                status: .failed
            )
        }
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
            hint: "stop this program, then run `httpdnsctl setup revert --force`",
            status: .failed
        )
    }

    private var hasNameserver: Bool {
        !ResolvConfText(tree.text(Paths.resolvConf) ?? "").nameservers.isEmpty
    }
}
