// SPDX-License-Identifier: Apache-2.0
import Control

/// Record of the changes of a setup, written to disk before the first change.
struct SetupJournal: Codable, Equatable, Sendable {
    /// Path of the journal, outside `/var/lib/httpdnsd`, which only the daemon's user can enter.
    static let path = "/var/lib/httpdnsd-setup/journal.json"

    static let damagedPath = path + ".damaged"
    var version = 1
    var owner: String
    var entries: [Entry]

    var directories: [String] = []

    var commands: [[String]]

    /// Commands that a revert runs after it has restored the files; if nil, the revert runs
    /// `commands`.
    var undo: [[String]]?

    struct Entry: Codable, Equatable, Sendable {
        var path: String
        var before: FileState
        var after: FileState

        /// If a file changed since the setup, returns the state to which a revert sets this file;
        /// nil if the revert does not change the file.
        func restored(from now: FileState, _ ownServers: Set<String>) -> FileState? {
            if path == ResolverFacts.Paths.networkServers { return before }
            if path == ResolverFacts.Paths.resolvConf {
                guard now.kind == .file || now.kind == .absent else { return nil }
                let servers = ResolvConfText(now.text).nameservers
                if ownServers.isSuperset(of: servers) { return before }
                guard now.isFromSetup || !ownServers.isDisjoint(with: servers) else { return nil }
                return now.replacing(ownServers, by: ResolvConfText(before.text))
            }
            guard now.isFromSetup else { return nil }
            return ResolverFacts.createdFiles.contains(path) ? before : now.withoutSetup
        }
    }

    /// Returns the journal; nil without a journal, or if it is damaged and `ignoringDamage` is
    /// true.
    ///
    /// - Throws: if the journal is unreadable or from a newer version.
    static func read(
        from tree: FileTree,
        ignoringDamage: Bool = false
    ) throws(Failure) -> SetupJournal? {
        let state = try tree.state(path)
        guard state.kind != .absent else { return nil }
        // The journal of a newer version can have other fields.
        if let found = try? JSONText.decode(Version.self, from: state.octets), found.version > 1 {
            throw Failure(
                message: "\(path) was written by a newer version of httpdnsctl",
                hint: "run `httpdnsctl setup revert` with that version"
            )
        }
        do {
            return try JSONText.decode(SetupJournal.self, from: state.octets)
        } catch {
            if ignoringDamage { return nil }
            throw Failure(
                message: "\(path) is damaged: \(error)",
                hint:
                    "restore the original files from the journal by hand, then remove the journal; "
                    + "or use --force, which renames the journal to \(damagedPath) and uses "
                    + "default contents instead of the original files"
            )
        }
    }

    private struct Version: Codable {
        var version: Int
    }

    static func setAsideDamaged(in tree: FileTree) throws(Failure) {
        let state = try tree.state(path)
        guard state.kind == .file, try read(from: tree, ignoringDamage: true) == nil else { return }
        try tree.put(state, at: damagedPath)
        try tree.put(.absent, at: path)
    }

    func write(to tree: FileTree) throws(Failure) {
        var state = FileState(kind: .file, octets: try encoded(), mode: 0o600)
        (state.user, state.group) = FileState.owner
        try tree.put(state, at: Self.path)
    }

    /// Limit for a new journal, in octets; ``read(from:ignoringDamage:)`` accepts twice this size.
    private static let maximumOctets = FileTree.maximumOctets / 2

    func checkSize() throws(Failure) {
        guard try encoded().count > Self.maximumOctets else { return }
        let largest = entries.max { $0.before.octets.count < $1.before.octets.count }
        let size = (largest?.before.octets.count ?? 0) >> 10
        throw Failure(
            message: "cannot save the original files: the setup journal would be larger than "
                + "\(Self.maximumOctets >> 10) KiB; the largest file is \(largest?.path ?? "") "
                + "(\(size) KiB); nothing was changed",
            hint: "shorten \(largest?.path ?? ""), then run the command again"
        )
    }

    private func encoded() throws(Failure) -> [UInt8] {
        do {
            return try JSONText.encode(self, indented: true) + [0x0A]
        } catch {
            throw Failure(message: "cannot encode the setup journal as JSON: \(error)")
        }
    }

    subscript(path: String) -> Entry? { entries.first { $0.path == path } }

    var ownServers: Set<String> {
        let written = ResolvConfText(self[ResolverFacts.Paths.resolvConf]?.after.text ?? "")
        return Set(written.nameservers.isEmpty ? ["127.0.0.1", "::1"] : written.nameservers)
    }
}

extension SetupJournal {
    /// Returns the journal without the entry of resolv.conf, if another program rewrote the file.
    func withoutReplaced(in tree: FileTree) throws(Failure) -> SetupJournal {
        guard let entry = self[ResolverFacts.Paths.resolvConf] else { return self }
        let now = try tree.state(entry.path)
        let text = tree.text(entry.path) ?? ""
        guard now != entry.before, now != entry.after, !now.isFromSetup,
            !ownServers.isSuperset(of: ResolvConfText(text).nameservers)
        else { return self }
        // This resolv.conf contains the servers of a VPN, not the servers of the network.
        if case .foreign = ResolverOwner(signedIn: text) { return self }
        var journal = self
        journal.entries.removeAll { $0 == entry }
        return journal
    }

    init(replacingLostIn tree: FileTree) throws(Failure) {
        let facts = try ResolverFacts(of: tree, before: nil)
        let plan = SetupPlan(for: facts, servers: [])
        var entries: [Entry] = []
        for path in facts.lost {
            let before = facts.files[path] ?? .absent
            entries.append(Entry(path: path, before: before, after: try tree.state(path)))
        }
        self.init(
            owner: plan.owner.name,
            entries: entries,
            directories: [FileTree.directory(of: Self.path)],
            commands: plan.commands,
            undo: plan.undo
        )
    }

    static func orDefaults(
        _ journal: SetupJournal?,
        in tree: FileTree
    ) throws(Failure) -> SetupJournal {
        if let journal { return journal }
        return try SetupJournal(replacingLostIn: tree)
    }
}
