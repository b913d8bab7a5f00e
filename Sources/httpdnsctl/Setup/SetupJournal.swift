// SPDX-License-Identifier: Apache-2.0
import Control

/// What a setup has done, or was about to do when it ended: on the disk before the first change.
struct SetupJournal: Codable, Equatable, Sendable {
    /// Where it lies: not in the daemon's own directory, which only the daemon's user may enter.
    static let path = "/var/lib/httpdnsd-setup/journal.json"

    /// The version of this form.
    var version = 1

    /// Who wrote `/etc/resolv.conf`.
    var owner: String

    /// The files, in the order they are written.
    var entries: [Entry]

    /// The directories that were made for them, the outermost first.
    var directories: [String] = []

    /// The commands that make services see the files.
    var commands: [[String]]

    /// The commands that do so after a revert; nil if they are the same.
    var undo: [[String]]?

    /// A file before and after.
    struct Entry: Codable, Equatable, Sendable {
        var path: String
        var before: FileState
        var after: FileState
    }

    /// The journal of a tree; nil if nothing was set up.
    ///
    /// - Throws: `Failure` if there is one that cannot be read: to go on would lose what it keeps.
    static func read(from tree: FileTree) throws(Failure) -> SetupJournal? {
        let state = try tree.state(path)
        guard state.kind != .absent else { return nil }
        do {
            let journal = try JSONText.decode(SetupJournal.self, from: state.octets)
            if journal.version == 1 { return journal }
        } catch {
            throw Failure(
                message: "\(path) cannot be read: \(error)",
                hint: "it has what the files were before: restore them by hand, then remove it",
                status: .failed
            )
        }
        throw Failure(message: "\(path) is of a newer version", status: .failed)
    }

    /// Writes it, on the disk when this returns.
    func write(to tree: FileTree) throws(Failure) {
        let octets: [UInt8]
        do {
            octets = try JSONText.encode(self, indented: true)
        } catch {
            throw Failure(message: "the journal has no JSON form: \(error)", status: .failed)
        }
        var state = FileState(kind: .file, octets: octets + [0x0A], mode: 0o600)
        (state.user, state.group) = FileState.owner
        try tree.put(state, at: Self.path)
    }

    /// The entry of a path.
    subscript(path: String) -> Entry? { entries.first { $0.path == path } }
}
