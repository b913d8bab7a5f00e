// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Watch for writes to a file, and for its replacement, removal and creation.
///
/// Watches the directories of the file and of each symbolic link in the path, and the file itself,
/// which can be bind-mounted. For a missing directory, watches its nearest existing ancestor.
///
/// If no inotify instances or watches are left, the handler is called every 10 s. If the daemon has
/// no permission to read the file, the watch checks the version of the file every 10 s.
///
/// `sd_event_add_inotify` is not used, because it fails with EINVAL if an inode number is reused.
@ServiceLoop
package final class FileWatch {
    private let path: String
    private let handler: @ServiceLoop () -> Void
    private let open: () -> Int32
    private let pollTime: Duration
    private var instance: Instance?
    private var events: DescriptorWatch?

    private var poll: LoopTimer?

    /// Reason why the kernel does not report changes, or nil.
    package private(set) var fault: SocketError?

    private var file: Int32?

    private var isDenied = false

    private var version: FileVersion?

    private let fileEvents: Int32

    private var directories: [Int32: Set<String>] = [:]

    /// Watches `path`, which is absolute and need not exist, until released.
    ///
    /// A write is reported when the writer closes the file.
    package convenience init(
        _ path: String,
        isDirectory: Bool = false,
        _ handler: @escaping @ServiceLoop () -> Void
    ) {
        self.init(path, isDirectory: isDirectory, pollTime: .seconds(10), handler) {
            inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        }
    }

    init(
        _ path: String,
        isDirectory: Bool = false,
        pollTime: Duration,
        _ handler: @escaping @ServiceLoop () -> Void,
        open: @escaping () -> Int32
    ) {
        self.path = path
        self.handler = handler
        self.open = open
        self.pollTime = pollTime
        fileEvents = Self.fileEvents | (isDirectory ? Self.directoryEvents : 0)
        watch()
    }

    isolated deinit {
        events?.cancel()
        poll?.cancel()
    }

    private final class Instance {
        let descriptor: OwnedDescriptor

        init(_ raw: Int32) throws(SocketError) {
            descriptor = try OwnedDescriptor(raw, from: "inotify_init1")
        }
    }

    // MARK: - Watching

    private func watch() {
        poll?.cancel()
        poll = nil
        version = FileVersion(path)
        do throws(SocketError) {
            if instance == nil {
                let new = try Instance(open())
                events = try DescriptorWatch(new.descriptor.raw, .readable) { [weak self] _ in
                    self?.read()
                }
                instance = new
            }
            try renew()
            fault = nil
        } catch {
            fault = error
        }
        guard fault != nil || isDenied else { return }
        poll = LoopTimer(at: Clock.now + pollTime) { [weak self] in
            guard let self else { return }
            let (hadFault, before) = (fault != nil, version)
            watch()
            if hadFault || !isDenied || version != before { handler() }
        }
    }

    private var raw: Int32 { instance?.descriptor.raw ?? -1 }

    private func renew() throws(SocketError) {
        let old = Set(directories.keys).union([file].compactMap(\.self))
        isDenied = false
        file = try add(path, fileEvents)
        directories = [:]
        try watchComponents()
        for watch in old where watch != file && directories[watch] == nil {
            // Fails if the kernel has removed the watch together with the file.
            inotify_rm_watch(raw, watch)
        }
    }

    private func watchComponents() throws(SocketError) {
        var directory = "/"
        var rest: [Substring] = path.split(separator: "/").reversed()
        var links = 0
        while let name = rest.popLast() {
            guard name != "." else { continue }
            guard name != ".." else {
                directory = Self.parent(directory)
                continue
            }
            let path = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
            var entry = Entry(path)
            if rest.isEmpty || entry != .present {
                try watch(name, in: directory)
                // The entry can have changed before the watch began.
                entry = Entry(path)
            }
            switch entry {
            case .present: directory = path
            case .missing: return
            case .link(let target):
                links += 1
                guard links <= Self.maximumLinks else { return }
                if target.hasPrefix("/") { directory = "/" }
                rest += target.split(separator: "/").reversed()
            }
        }
    }

    private enum Entry: Equatable {
        case present
        case missing
        case link(String)

        init(_ path: String) {
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            // SAFETY: the path ends with NUL; readlink writes at most the given count.
            let count = unsafe readlink(path, &target, target.count)
            if count > 0 {
                let octets = target.prefix(count).map { UInt8(bitPattern: $0) }
                self = .link(String(decoding: octets, as: UTF8.self))
            } else {
                self = errno == EINVAL ? .present : .missing
            }
        }
    }

    /// As in Linux (path_resolution(7)).
    private static let maximumLinks = 40

    private func watch(_ name: Substring, in directory: String) throws(SocketError) {
        var (name, directory) = (String(name), directory)
        while true {
            if let watch = try add(directory, Self.directoryEvents) {
                directories[watch, default: []].insert(name)
                return
            }
            guard directory != "/" else { return }
            name = String(directory.split(separator: "/").last ?? "")
            directory = Self.parent(directory)
        }
    }

    private func add(_ path: String, _ events: Int32) throws(SocketError) -> Int32? {
        // SAFETY: the string is valid during the call.
        let watch = unsafe inotify_add_watch(raw, path, UInt32(bitPattern: events))
        guard watch < 0 else { return watch }
        switch errno {
        case EACCES:
            isDenied = isDenied || path == self.path
            return nil
        case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: return nil
        default: throw .last("inotify_add_watch")
        }
    }

    /// IN_ATTRIB occurs when a rename replaces the file.
    private static let fileEvents = IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB

    /// If the file itself has no watch, IN_ATTRIB on its directory reports new permissions.
    private static let directoryEvents =
        IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_CREATE | IN_DELETE
        | IN_MOVED_FROM | IN_MOVED_TO | Int32(IN_ONLYDIR)

    private static func parent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    // MARK: - Noticing

    private func read() {
        var concerns = false
        while true {
            var octets = take()[...]
            if octets.isEmpty { break }
            while let event = Event(&octets) { concerns = concerns || isOurs(event) }
        }
        guard concerns else { return }
        watch()
        handler()
    }

    private func take() -> [UInt8] {
        // SAFETY: read(2) stores at most `buffer.count` octets in `buffer`.
        unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = unsafe max(0, Glibc.read(raw, buffer.baseAddress, buffer.count))
        }
    }

    private func isOurs(_ event: Event) -> Bool {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        if event.mask & UInt32(IN_IGNORED) != 0 { return false }
        if event.watch == file { return true }
        guard let names = directories[event.watch] else { return false }
        return event.name.isEmpty || names.contains(event.name)
    }

    private struct Event {
        let watch: Int32
        let mask: UInt32

        let name: String

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

        private static let head = 16
    }
}
