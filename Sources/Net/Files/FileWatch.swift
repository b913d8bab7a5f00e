// SPDX-License-Identifier: Apache-2.0

/// Tells when a file may have changed: written, replaced, removed, made again.
///
/// Two things are watched.  The directory, or the nearest one above that exists, tells of files that
/// come, go and are renamed over one another.  The file itself tells what its directory cannot know:
/// that what a link leads to, or what was mounted over it, was written.
@ServiceLoop
package final class FileWatch {
    private let path: String
    private let handler: @ServiceLoop () -> Void

    /// What is watched now.
    private var sources: [InotifySource] = []

    /// Calls `handler` whenever the file at `path` may have changed, until released.
    ///
    /// A file that is being written is one that has changed when it is closed.
    ///
    /// - Parameter path: an absolute one; nothing need be there.
    /// - Throws: `SocketError.system` if the kernel watches no more for this user.
    package init(
        _ path: String,
        _ handler: @escaping @ServiceLoop () -> Void
    ) throws(SocketError) {
        self.path = path
        self.handler = handler
        try renew()
    }

    /// Watches what is there now: the old file may be gone and the directory be there at last.
    private func renew() throws(SocketError) {
        var renewed: [InotifySource] = []
        let notice: @ServiceLoop () -> Void = { [weak self] in self?.notice() }
        if let file = try InotifySource(path, .file, handler: notice) { renewed.append(file) }
        var directory = Self.parent(path)
        while true {
            // The name in the directory that leads to the file.
            let rest = path.dropFirst(directory == "/" ? 1 : directory.utf8.count + 1)
            let name = String(rest.prefix { $0 != "/" })
            if let found = try InotifySource(directory, .directory(name), handler: notice) {
                renewed.append(found)
                break
            }
            guard directory != "/" else { break }
            directory = Self.parent(directory)
        }
        sources = renewed
    }

    private func notice() {
        do throws(SocketError) {
            try renew()
        } catch {
            // What was watched before still is, and the handler is told of this change.
        }
        handler()
    }

    /// The directory that a path is in.
    private static func parent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
