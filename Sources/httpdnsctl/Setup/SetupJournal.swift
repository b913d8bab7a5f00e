// SPDX-License-Identifier: Apache-2.0
import Control

/// Record of a setup, written to disk before the first change.
struct SetupJournal: Codable, Equatable, Sendable {
    /// Path of the journal; outside the daemon's own directory, which only its user can enter.
    static let path = "/var/lib/httpdnsd-setup/journal.json"

    var version = 1

    var owner: String

    var entries: [Entry]

    /// Directories that the setup created, the outermost first.
    var directories: [String] = []

    /// Commands that notify services of the changes.
    var commands: [[String]]

    /// Commands that notify services after a revert; nil if they are the same.
    var undo: [[String]]?

    /// State of a file before and after the setup.
    struct Entry: Codable, Equatable, Sendable {
        var path: String
        var before: FileState
        var after: FileState
    }

    /// Reads the journal of a tree; nil if there is none.
    ///
    /// - Throws: `Failure` for an unreadable journal, which must not be overwritten.
    static func read(from tree: FileTree) throws(Failure) -> SetupJournal? {
        let state = try tree.state(path)
        guard state.kind != .absent else { return nil }
        do {
            let journal = try JSONText.decode(SetupJournal.self, from: state.octets)
            if journal.version == 1 { return journal }
        } catch {
            throw Failure(
                message: "cannot read \(path): \(error)",
                hint: "it contains the original files: restore them by hand, then remove it",
                status: .failed
            )
        }
        throw Failure(message: "\(path) was written by a newer version", status: .failed)
    }

    func write(to tree: FileTree) throws(Failure) {
        let octets: [UInt8]
        do {
            octets = try JSONText.encode(self, indented: true)
        } catch {
            throw Failure(message: "cannot encode the journal as JSON: \(error)", status: .failed)
        }
        var state = FileState(kind: .file, octets: octets + [0x0A], mode: 0o600)
        (state.user, state.group) = FileState.owner
        try tree.put(state, at: Self.path)
    }

    subscript(path: String) -> Entry? { entries.first { $0.path == path } }
}
