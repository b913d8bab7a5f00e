// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Logging
internal import Net
internal import Resolver

/// Reads the hosts files, and reads them again when they change.
///
/// They are read on another thread, as a large one takes a while, and the table as a whole then takes
/// the place of the one before.  A file that is not there is empty: it may come later.
@ServiceLoop
final class HostsFiles {
    /// Octets that a file has at most; what is longer is not read.
    nonisolated static let mostOctets = 8 << 20

    /// How long a change waits for those that follow it.
    private static let settling: Duration = .milliseconds(100)

    private let settings: HostsSettings
    private let logger: Logger
    private let use: @ServiceLoop (HostsTable) -> Void

    private var watches: [FileWatch] = []
    private var alarm: Alarm?

    /// Whether the files are being read, and have changed meanwhile.
    private var isReading = false
    private var hasChanged = false

    /// What was said of each file, so that it is said once.
    private var told: [String: String] = [:]

    /// Makes a reader that hands each new table to `use`.
    init(
        _ settings: HostsSettings,
        logger: Logger,
        _ use: @escaping @ServiceLoop (HostsTable) -> Void
    ) {
        self.settings = settings
        self.logger = logger
        self.use = use
    }

    /// Reads the files for the first time, and watches them from before that on.
    func start() async {
        let alarm = Alarm(.system) { [weak self] in
            guard let self else { return }
            ServiceLoop.task { await self.read() }
        }
        self.alarm = alarm
        for path in settings.files {
            do throws(SocketError) {
                watches.append(
                    try FileWatch(path) { alarm.bring(forward: Clock.now + Self.settling) }
                )
            } catch {
                logger.warning("hosts: changes of \(path) will not be noticed (\(error))")
            }
        }
        await read()
    }

    /// Forgets the files.
    func stop() {
        watches = []
        alarm?.set(nil)
    }

    /// Reads all files, once more if they change meanwhile.
    private func read() async {
        hasChanged = true
        guard !isReading else { return }
        isReading = true
        while hasChanged {
            hasChanged = false
            let settings = settings
            let result = await Task.detached { HostsReading(settings) }.value
            for file in result.files { tell(file) }
            if result.table.leftOut > 0 {
                tell("the table is full, ignoring \(result.table.leftOut) names and addresses")
            }
            use(result.table)
            logger.info("hosts: \(result.table.count) names")
        }
        isReading = false
    }

    // MARK: - Logging

    /// Tells what is wrong with a file, if it is not what was told last.
    private func tell(_ file: HostsReading.File) {
        guard let complaint = file.complaint, told[file.path] != complaint else {
            if file.complaint == nil { told[file.path] = nil }
            return
        }
        told[file.path] = complaint
        // The file that everybody has is in the defaults, so nobody may have asked for it.
        if file.isMissing, settings.files == HostsSettings().files {
            logger.debug("hosts: \(file.path) \(complaint)")
        } else {
            logger.warning("hosts: \(complaint)")
        }
    }

    private func tell(_ complaint: String) {
        guard told[""] != complaint else { return }
        told[""] = complaint
        logger.warning("hosts: \(complaint)")
    }
}

/// What is in the files at one moment.
struct HostsReading: Sendable {
    /// What is to be told of a file.
    struct File: Sendable {
        let path: String
        var complaint: String?
        var isMissing = false
    }

    private(set) var table: HostsTable
    private(set) var files: [File] = []

    /// Reads them; may take a while.
    init(_ settings: HostsSettings) {
        table = HostsTable(
            records: settings.records.map { (name: $0.name, addresses: $0.addresses) }
        )
        for path in settings.files {
            var file = File(path: path)
            do throws(FileError) {
                let octets = try RegularFile(path).read(atMost: HostsFiles.mostOctets)
                let faults = table.add(hostsFile: octets)
                if let first = faults.first {
                    let rest = faults.count == 1 ? "it" : "it and \(faults.count - 1) more"
                    file.complaint = "\(path):\(first.line): \(first.reason), ignoring \(rest)"
                }
            } catch {
                file.complaint = "\(path) \(error.reason), ignoring it"
                file.isMissing = error == .system(ENOENT)
            }
            files.append(file)
        }
    }
}
