// SPDX-License-Identifier: Apache-2.0
import Glibc

extension SetupMachine {
    private typealias Paths = ResolverFacts.Paths

    /// Restores all files, then notifies the services; returns the faults of these notifications.
    ///
    /// A notified service may overwrite resolv.conf. Then resolv.conf is restored again.
    func restore(_ journal: SetupJournal) throws(Failure) -> [String] {
        for entry in journal.entries.reversed() {
            try tree.removeLeftover(of: entry.path)
            if try tree.state(entry.path) != entry.before {
                try tree.put(entry.before, at: entry.path)
            }
        }
        var faults: [String] = []
        let commands = journal.undo ?? journal.commands
        for command in commands {
            do throws(Failure) {
                try completion([command])
            } catch {
                faults.append(error.message)
            }
            try restoreNameservers(journal)
        }
        if tree.isThisMachine, !commands.isEmpty {
            usleep(Self.settling)
            try restoreNameservers(journal)
        }
        return faults
    }

    func finish(
        _ journal: SetupJournal,
        leaving former: SetupJournal? = nil
    ) throws(Failure) {
        if journal[Paths.dhclientHook]?.before.kind == .absent {
            for name in tree.names(in: Paths.dhclientServers) {
                try tree.put(.absent, at: Paths.dhclientServers + "/" + name)
            }
            try tree.removeDirectory(Paths.dhclientServers)
        }
        // Removes the journal last: if this run is interrupted, the next revert needs the journal.
        for directory in journal.directories.reversed() { try tree.removeDirectory(directory) }
        if let former { return try former.write(to: tree) }
        guard tree.exists(SetupJournal.path) else { return }
        try tree.put(.absent, at: SetupJournal.path)
        for directory in journal.directories.reversed() { try tree.removeDirectory(directory) }
    }

    /// Time, in microseconds, in which a notified service may still overwrite resolv.conf.
    private static let settling: UInt32 = 1_000_000

    private func restoreNameservers(_ journal: SetupJournal) throws(Failure) {
        guard let entry = journal[Paths.resolvConf],
            ResolvConfText(tree.text(Paths.resolvConf) ?? "").nameservers.isEmpty,
            try tree.state(entry.path) != entry.before
        else { return }
        try tree.put(entry.before, at: entry.path)
    }
}

// MARK: - Nameservers after a revert

extension SetupMachine {
    /// Writes nameservers of the network to resolv.conf, if the file needs them after a revert.
    ///
    /// - If the administrator edited the saved nameservers, a restored resolv.conf gets the edited
    ///   nameservers.
    /// - If a DHCP client wrote the original, resolv.conf gets the servers of the present leases.
    /// - If resolv.conf has no nameserver except the daemon, or is a link to a file that no program
    ///   maintains, resolv.conf gets the last known servers of the network.
    /// - If no server of the network is known, resolv.conf gets public resolvers. Exception:
    ///   resolv.conf is the original file, or a link to a file that a program maintains.
    ///
    /// - Returns: a note about the servers that were written; nil if no servers were written, or
    ///   only servers of present leases.
    func completeNameservers(
        _ journal: SetupJournal,
        from known: KnownServers
    ) throws(Failure) -> String? {
        guard isLive else { return nil }
        let original = journal[Paths.resolvConf]?.before
        let now = try tree.state(Paths.resolvConf)
        try replaceCopies(original, known)
        let isRestored = now.kind == .file && now == original
        if isRestored, !known.edited.isEmpty {
            try write(known.edited, to: Paths.resolvConf)
            return "\(Paths.networkServers) was edited since the setup, so the revert wrote the "
                + "nameservers of this file to \(Paths.resolvConf)"
        }
        let isResolved = journal.owner == ResolverOwner.resolved.name
        let signer = original.flatMap { ResolverOwner(signedIn: $0.text) }
        let isOfClient =
            isResolved && now.kind == .link
            || isRestored && [nil, .dhclient, .dhcpcd].contains(signer)
        let isChosen =
            journal[Paths.networkServers]?.after.text.contains(SetupPlan.chosenMark) ?? false
        var facts = try ResolverFacts(of: tree, before: nil, seesSetup: true)
        var target = restoredTarget(facts, journal)
        if target != nil, isOfClient, !isChosen, !known.leased.isEmpty {
            if known.leased != KnownServers.servers(in: [Paths.resolvConf], of: tree) {
                try write(known.leased, to: target)
            }
            return nil
        }
        // After a notification, systemd-resolved needs time to get the servers of the network.
        var turns = tree.isThisMachine && now.kind == .link ? 6 : 0
        while target != nil {
            if hasServer(facts, besides: journal.ownServers) { return nil }
            if turns == 0 { break }
            turns -= 1
            usleep(500_000)
            facts = try ResolverFacts(of: tree, before: nil, seesSetup: true)
            target = restoredTarget(facts, journal)
        }
        let isLost = target == nil || now.kind == .file && now != original
        let servers = known.last.isEmpty && isLost ? KnownServers.public : known.last
        guard !servers.isEmpty else { return nil }
        try write(servers, to: target, isDefault: now.kind != .link || target == nil)
        guard !known.last.isEmpty else {
            return "no server of the network is known, so the revert added the public resolvers "
                + "\(servers.joined(separator: " and ")) to \(Paths.resolvConf); replace these "
                + "resolvers with the servers of your network"
        }
        return
            "\(Paths.resolvConf) had no nameserver besides the daemon, so the revert added the "
            + "last known servers of the network (\(servers.joined(separator: ", ")))"
    }

    /// Replaces the original of resolv.conf in the journal with the file that a revert will write.
    ///
    /// Does this only if the original is a link, and no program maintains the target of this link.
    func forecast(_ journal: SetupJournal) throws(Failure) -> SetupJournal {
        var journal = journal
        guard isLive,
            let index = journal.entries.firstIndex(where: { $0.path == Paths.resolvConf }),
            journal.entries[index].before.kind == .link
        else { return journal }
        let facts = try ResolverFacts(of: tree, before: journal)
        guard restoredTarget(facts, journal) == nil else { return journal }
        let known = try KnownServers(in: tree, edited: hasEditedServers(since: journal)).last
        let servers = known.isEmpty ? KnownServers.public : known
        let text = ResolvConfText(facts.text ?? "").withDefaultServers(servers)
        journal.entries[index].before = .file(text)
        return journal
    }

    func noteOnOwnServers(_ journal: SetupJournal) throws(Failure) -> String? {
        let now = try tree.state(Paths.resolvConf)
        let servers = ResolvConfText(now.text).nameservers
        guard now.kind == .file, !servers.isEmpty, journal.ownServers.isSuperset(of: servers) else {
            return nil
        }
        return "\(Paths.resolvConf) names only the daemon (\(servers.joined(separator: ", "))), as "
            + "before the setup: without the daemon, this machine will have no DNS; before you "
            + "remove the daemon, write the servers of your network to this file, or replace the "
            + "daemon with another DNS server"
    }

    /// Returns the file to which resolv.conf leads; nil if no program maintains this file.
    ///
    /// Exception: if no program maintained the file at the time of the setup, the function returns
    /// nil only if the file does not exist.
    private func restoredTarget(_ facts: ResolverFacts, _ journal: SetupJournal) -> String? {
        guard facts.resolvConf.kind == .link else { return Paths.resolvConf }
        guard let manager = ResolverOwner(placedBy: facts),
            manager.name == journal.owner || facts.resolvConf != journal[Paths.resolvConf]?.before
        else { return tree.exists(facts.resolvedPath) ? facts.resolvedPath : nil }
        return manager.isAlive(facts) ? facts.resolvedPath : nil
    }

    private func hasServer(_ facts: ResolverFacts, besides own: Set<String>) -> Bool {
        let uplinks = ResolvConfText(tree.text(Paths.resolved + "/resolv.conf") ?? "")
        return ResolvConfText(facts.text ?? "").nameservers.contains { server in
            guard ResolverOwner.isStub(server) else { return !own.contains(server) }
            return ResolverOwner.resolved.isAlive(facts)
                && (facts.resolvConf.kind == .file || !uplinks.networkServers.isEmpty)
        }
    }

    private func write(
        _ servers: [String],
        to target: String?,
        isDefault: Bool = false
    ) throws(Failure) {
        let path = target ?? Paths.resolvConf
        let old = ResolvConfText(tree.text(Paths.resolvConf) ?? "")
        var file = FileState.file(isDefault ? old.withDefaultServers(servers) : old.with(servers))
        let now = try tree.state(path)
        (file.user, file.group) = now.kind == .absent ? FileState.owner : (now.user, now.group)
        if now.kind == .file { file.mode = now.mode }
        _ = try tree.makeDirectories(for: path)
        try tree.put(file, at: path)
    }

    /// Corrects the backups of resolv.conf that vpnc-script made while setup was applied.
    ///
    /// When the VPN ends, vpnc-script writes its backup to resolv.conf. Without the correction,
    /// resolv.conf would then again name the daemon.
    private func replaceCopies(_ original: FileState?, _ known: KnownServers) throws(Failure) {
        let directory = "/run/vpnc"
        for name in tree.names(in: directory) where name.hasPrefix("resolv.conf-backup") {
            var copy = try tree.state(directory + "/" + name)
            guard copy.isFromSetup else { continue }
            let servers = known.last.isEmpty ? KnownServers.public : known.last
            copy.octets =
                original?.kind == .file
                ? original?.octets ?? []
                : Array(ResolvConfText(copy.text).withDefaultServers(servers).utf8)
            try tree.put(copy, at: directory + "/" + name)
        }
    }
}
