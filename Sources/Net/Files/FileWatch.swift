// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Tells when a file may have changed: written, replaced, removed, made again.
///
/// Two things are watched by inotify(7).  The directory, or the nearest one above that exists, tells
/// of files that come, go and are renamed over one another.  The file itself tells what its
/// directory cannot know: that what a link leads to, or what was mounted over it, was written.
///
/// Not by `sd_event_add_inotify`, which knows files by their inode numbers and refuses (EINVAL) one
/// that has the number of another that went a moment ago.
@ServiceLoop
package final class FileWatch {
    private let path: String
    private let handler: @ServiceLoop () -> Void
    private let inotify: OwnedDescriptor
    private var events: DescriptorWatch?

    /// The watch on the file, if there is one.
    private var file: Int32?

    /// The watch on the directory, and the name in it that leads to the file.
    private var directory: (watch: Int32, name: String)?

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
        inotify = try OwnedDescriptor(
            inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)),
            from: "inotify_init1"
        )
        events = nil
        events = try DescriptorWatch(inotify.raw, .readable) { [weak self] _ in self?.read() }
        try renew()
    }

    isolated deinit { events?.cancel() }

    // MARK: - Watching

    /// Watches what is there now: the old file may be gone and the directory be there at last.
    private func renew() throws(SocketError) {
        let old = [file, directory?.watch].compactMap(\.self)
        file = try add(path, Self.fileEvents)
        directory = nil
        var above = Self.parent(path)
        while true {
            if let watch = try add(above, Self.directoryEvents) {
                let rest = path.dropFirst(above == "/" ? 1 : above.utf8.count + 1)
                directory = (watch, String(rest.prefix { $0 != "/" }))
                break
            }
            guard above != "/" else { break }
            above = Self.parent(above)
        }
        for watch in old where watch != file && watch != directory?.watch {
            // Fails if what was watched is gone, and its watch with it.
            inotify_rm_watch(inotify.raw, watch)
        }
    }

    /// Watches what is at `path`, and returns the same number as ever for the same thing; nil if
    /// nothing is there.
    private func add(_ path: String, _ events: Int32) throws(SocketError) -> Int32? {
        // SAFETY: the string is valid during the call.
        let watch = unsafe inotify_add_watch(inotify.raw, path, UInt32(bitPattern: events))
        guard watch < 0 else { return watch }
        switch errno {
        case ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG: return nil
        default: throw .last("inotify_add_watch")
        }
    }

    /// The last link to an old file goes when another is renamed over it: that is an attribute.
    private static let fileEvents = IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB

    private static let directoryEvents =
        IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_CREATE | IN_DELETE | IN_MOVED_FROM
        | IN_MOVED_TO | Int32(IN_ONLYDIR)

    /// The directory that a path is in.
    private static func parent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    // MARK: - Noticing

    /// Reads what happened, and tells once if any of it is about the file.
    private func read() {
        var concerns = false
        while true {
            var octets = take()[...]
            if octets.isEmpty { break }
            while let event = Event(&octets) { concerns = concerns || isOurs(event) }
        }
        guard concerns else { return }
        do throws(SocketError) {
            try renew()
        } catch {
            // What was watched before still is, and the handler is told of this change.
        }
        handler()
    }

    /// The events that are there, as many as a buffer holds.
    private func take() -> [UInt8] {
        // SAFETY: never more than the buffer holds.
        unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, Glibc.read(inotify.raw, buffer.baseAddress, buffer.count))
        }
    }

    /// Whether an event is about the file, or may be.
    private func isOurs(_ event: Event) -> Bool {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        // The watch itself has gone: what it was on was told of before.
        if event.mask & UInt32(IN_IGNORED) != 0 { return false }
        if event.watch == file { return true }
        guard let directory, event.watch == directory.watch else { return false }
        return event.name.isEmpty || event.name == directory.name
    }

    /// What the kernel tells, as inotify(7) lays it out.
    private struct Event {
        let watch: Int32
        let mask: UInt32

        /// What it is about in a directory; empty if about the watched thing itself.
        let name: String

        /// Takes the first event out of `octets`; nil if there is no whole one.
        init?(_ octets: inout ArraySlice<UInt8>) {
            func number(_ offset: Int) -> UInt32 {
                octets.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            }
            guard octets.count >= Self.head else { return nil }
            let count = Int(number(12))
            guard octets.count - Self.head >= count else { return nil }
            watch = Int32(bitPattern: number(0))
            mask = number(4)
            let name = octets.dropFirst(Self.head).prefix(count).prefix { $0 != 0 }
            self.name = String(decoding: name, as: UTF8.self)
            octets = octets.dropFirst(Self.head + count)
        }

        /// Octets before the name.
        private static let head = 16
    }
}
