// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// A file or directory that sd-event watches by inotify(7).
// SAFETY: the one unsafe thing stored is the source, see there.
@safe
@ServiceLoop
final class InotifySource {
    /// What is watched.
    enum Object {
        /// The file that the path leads to.
        case file

        /// The directory at the path, for what happens to this name in it.
        case directory(String)
    }

    /// The sd-event source, nil once cancelled.
    // SAFETY: made in `init`, released once in `deinit`, used on the loop only.
    private var source: OpaquePointer?

    /// The name that is watched in a directory.
    private let name: String?
    private let handler: @ServiceLoop () -> Void

    /// Watches what is at `path` until released; nil if there is no such thing.
    ///
    /// - Throws: `SocketError.system` if the kernel watches no more for this user.
    init?(
        _ path: String,
        _ object: Object,
        handler: @escaping @ServiceLoop () -> Void
    ) throws(SocketError) {
        self.handler = handler
        unsafe source = nil
        var events = IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF
        switch object {
        case .file:
            name = nil
            // The last link to the old file goes when another is renamed over it.
            events |= IN_ATTRIB
        case .directory(let child):
            name = child
            events |= IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | Int32(IN_ONLYDIR)
        }
        // SAFETY: `deinit` ends all callbacks before this object goes; the callback holds it while it
        // runs.
        let status = unsafe sd_event_add_inotify(
            LoopExecutor.shared.event,
            &source,
            path,
            UInt32(bitPattern: Int32(events)),
            { _, event, data in
                guard let data = unsafe data, let event = unsafe event else { return 0 }
                // SAFETY: `data` is the object that added this source, which is alive, see above; it
                // is used on the loop only.
                let source = unsafe Unmanaged<InotifySource>.fromOpaque(data).takeUnretainedValue()
                let name = unsafe InotifySource.name(in: event)
                ServiceLoop.assumeIsolated { source.notice(name) }
                return 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        switch -status {
        case ...0: break
        case ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG: return nil
        case let code: throw .system(call: "inotify_add_watch", code: code)
        }
    }

    /// The name that an event is about; nil if it is about the watched thing itself.
    private nonisolated static func name(in event: UnsafePointer<inotify_event>) -> String? {
        // SAFETY: the kernel puts `len` octets behind the event's fields, which end with zeros.
        guard unsafe event.pointee.len > 0 else { return nil }
        return unsafe UnsafeRawPointer(event + 1).withMemoryRebound(
            to: CChar.self,
            capacity: Int(event.pointee.len)
        ) { unsafe String(cString: $0) }
    }

    /// Tells of an event unless it is about another name.
    private func notice(_ changed: String?) {
        if let changed, let name, changed != name { return }
        handler()
    }

    isolated deinit {
        // SAFETY: the source is released exactly once.
        unsafe sd_event_source_disable_unref(source)
        unsafe source = nil
    }
}
