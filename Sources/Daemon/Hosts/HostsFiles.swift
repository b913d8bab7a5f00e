// SPDX-License-Identifier: Apache-2.0
package import Configuration
internal import Glibc
internal import Logging
internal import Net
internal import Resolver

/// Reader of the hosts files; reads a changed file again.
///
/// The names of a file that becomes unreadable stay in the table.
@ServiceLoop
final class HostsFiles {
    /// Maximum octets of one file; the rest of a longer file is ignored.
    nonisolated static let mostOctets = 8 << 20

    /// Maximum octets of all files together; the excess at the end of the largest file is ignored.
    nonisolated static let mostTotalOctets = 16 << 20

    private static let largeTable = 10_000

    private static let settling: Duration = .milliseconds(100)

    private static let retry: Duration = .seconds(10)

    private let settings: HostsSettings
    private let logger: Logger
    private(set) var table = HostsTable()
    var onChange: (@ServiceLoop (HostsTable) -> Void)?
    private var watches: [FileWatch] = []
    private var alarm: Alarm?
    private var isStopped = false
    private var isReading = false
    private var hasChanged = false
    private var logged: [String: String] = [:]

    private var known: Set<String> = []

    /// Faults that cause missing or outdated names.
    private(set) var problems: [String] = []

    private(set) var staleFile: String?

    /// Reason why no file was read; another attempt follows.
    private(set) var failure: String?

    /// - Parameter former: earlier files; if a file cannot be read, its earlier names stay in use.
    init(_ settings: HostsSettings, after former: HostsFiles? = nil, logger: Logger) {
        self.settings = settings
        self.logger = logger
        guard let former else { return }
        table = former.table
        known = former.known.intersection(settings.files)
    }

    func start() async {
        let alarm = Alarm(.system) { [weak self] in
            guard let self else { return }
            ServiceLoop.task { await self.read() }
        }
        self.alarm = alarm
        for path in settings.files {
            let watch = FileWatch(path) { alarm.bring(forward: Clock.now + Self.settling) }
            watches.append(watch)
            if let fault = watch.fault {
                logger.warning("hosts: cannot watch \(path): \(fault); polling every 10 s")
            }
        }
        await read()
    }

    func stop() {
        isStopped = true
        watches = []
        alarm?.set(nil)
    }

    /// Result of reading the hosts files of new settings.
    struct Check {
        var fault: String?

        var problems: [String] = []

        /// Without a change of the settings, the present table.
        var table = HostsTable()
    }

    /// Reads the hosts files of `new` as a reload would, and changes nothing.
    func check(changingTo new: HostsSettings) async -> Check {
        let isChanged = new != settings
        let (table, known) = (table, known.intersection(new.files))
        do throws(SocketError) {
            return try await WorkerThread.run(named: "hosts") {
                defer { OwnProcess.returnFreeMemory() }
                let reading = HostsReading(new, after: table, of: known)
                return Check(
                    fault: isChanged ? reading.staleFile : nil,
                    problems: reading.problems,
                    table: isChanged ? reading.table : table
                )
            }
        } catch {
            return Check(fault: "cannot read the hosts files: \(error)")
        }
    }

    func read() async {
        hasChanged = true
        guard !isReading else { return }
        isReading = true
        var isLarge = false
        while hasChanged {
            hasChanged = false
            let (settings, table, known) = (settings, table, known)
            let result: HostsReading
            do throws(SocketError) {
                result = try await WorkerThread.run(named: "hosts") {
                    HostsReading(settings, after: table, of: known)
                }
            } catch {
                failure = "cannot read the hosts files: \(error)"
                logger.error("hosts: \(error), keeping the old table, retrying in 10 s")
                alarm?.bring(forward: Clock.now + Self.retry)
                break
            }
            guard !isStopped else { break }
            failure = nil
            self.table = result.table
            self.known = Set(result.files.filter(\.hasNames).map(\.path))
            problems = result.problems
            staleFile = result.staleFile
            for file in result.files { log(file) }
            log(excess: result.excess)
            guard result.hasChanged else { continue }
            onChange?(result.table)
            logger.info("hosts: names loaded: \(result.table.count)")
            if table.count > Self.largeTable { isLarge = true }
        }
        isReading = false
        guard isLarge else { return }
        // If no thread can be created, malloc keeps the memory of the former table for later use.
        try? await WorkerThread.run(named: "hosts-memory") { OwnProcess.returnFreeMemory() }
    }

    // MARK: - Logging

    private func log(_ file: HostsReading.File) {
        guard let complaint = file.complaint, logged[file.path] != complaint else {
            if file.complaint == nil { logged[file.path] = nil }
            return
        }
        logged[file.path] = complaint
        if file.isMissing, settings.files == HostsSettings().files {
            logger.debug("hosts: \(file.path) \(complaint)")
        } else {
            logger.warning("hosts: \(complaint)")
        }
    }

    private func log(excess: String?) {
        guard logged[""] != excess else { return }
        logged[""] = excess
        if let excess { logger.warning("hosts: \(excess)") }
    }
}

extension HostsSettings {
    /// Describes the names and addresses beyond the limits, which the daemon ignores.
    ///
    /// Unreadable files are not included, because the settings check itself reports these files.
    package var excess: [String] {
        var reading = HostsReading(self, after: HostsTable(), of: [])
        reading.files.removeAll { !$0.hasNames }
        return reading.problems
    }
}

struct HostsReading: Sendable {
    struct File: Sendable {
        let path: String
        var complaint: String?

        var problem: String?

        var isMissing = false

        /// Reason why the file cannot be read; set only if its former names stay in the table.
        var staleness: String?

        var hasNames = false

        /// At most `HostsFiles.mostOctets`.
        var size = 0

        /// True if this file and the files before it exceed `mostTotalOctets`.
        var exceedsTotal = false

        var leftOut = 0
    }

    let table: HostsTable
    fileprivate(set) var files: [File]

    let hasChanged: Bool

    var staleFile: String? { files.lazy.compactMap(\.staleness).first }

    var problems: [String] {
        var problems = files.compactMap(\.problem)
        if let excess, table.reachedLimit != nil { problems.append(excess) }
        return problems
    }

    var excess: String? {
        guard let first = files.first(where: { $0.leftOut > 0 }) else { return nil }
        let count = files.reduce(0) { $0 + $1.leftOut }
        return table.reachedLimit.map {
            "the table has its maximum of \($0), ignoring \(count) entries (the first in "
                + "\(first.path))"
        }
            ?? "\(first.path) has more than \(HostsTable.mostAddresses) addresses for a name, "
            + "ignoring \(count) addresses"
    }

    /// Reads the files.
    ///
    /// If the files exceed a limit, reads them again, the smallest file first. So a large block
    /// list does not displace the names of other files.
    init(_ settings: HostsSettings, after former: HostsTable, of known: Set<String>) {
        var start = HostsTable(
            records: settings.records.map { (name: $0.name, addresses: $0.addresses) }
        )
        var table = start
        var files = Self.read(settings.files, into: &table, known)
        if files.contains(where: { $0.staleness != nil }) {
            // All former names stay, because the table does not record the file of each name.
            start = HostsTable(extending: former)
            table = start
            files = Self.read(settings.files, into: &table, known)
        }
        let isFull = table.reachedLimit != nil && table.leftOut > 0
        if isFull || files.contains(where: \.exceedsTotal), files.count > 1 {
            let paths = files.sorted { $0.size < $1.size }.map(\.path)
            table = start
            files = Self.read(paths, into: &table, known)
        }
        self.table = table
        self.files = files
        hasChanged = table != former
    }

    private static func read(
        _ paths: [String],
        into table: inout HostsTable,
        _ known: Set<String>
    ) -> [File] {
        var free = HostsFiles.mostTotalOctets
        return paths.map { path in
            let file = read(path, atMost: free, into: &table, known)
            free -= min(file.size, free)
            return file
        }
    }

    private static func read(
        _ path: String,
        atMost free: Int,
        into table: inout HostsTable,
        _ known: Set<String>
    ) -> File {
        var file = File(path: path)
        do throws(FileError) {
            var octets = try RegularFile(path).read(atMost: HostsFiles.mostOctets, cuts: true)
            file.size = min(octets.count, HostsFiles.mostOctets)
            file.exceedsTotal = file.size > free
            let limit = min(HostsFiles.mostOctets, free)
            let isCut = octets.count > limit
            if isCut {
                let end = octets[..<limit].lastIndex(of: UInt8(ascii: "\n")) ?? 0
                octets.removeSubrange(end...)
            }
            let before = table.leftOut
            let faults = table.add(hostsFile: octets)
            file.leftOut = table.leftOut - before
            file.hasNames = true
            if isCut {
                let reason =
                    file.exceedsTotal
                    ? "exceeds the limit of \(HostsFiles.mostTotalOctets >> 20) MiB for all hosts files"
                    : FileError.tooLong(limit: limit).reason
                file.complaint = "\(path) \(reason), ignoring the rest of the file"
                file.problem = file.complaint
            } else if let first = faults.first {
                let lines = faults.count == 1 ? "the line" : "\(faults.count) invalid lines"
                file.complaint = "\(path):\(first.line): \(first.reason), ignoring \(lines)"
            }
        } catch {
            file.isMissing = error == .system(ENOENT)
            let isKept = !file.isMissing && known.contains(path)
            if isKept { file.staleness = "\(path) \(error.reason)" }
            file.hasNames = isKept
            let consequence = isKept ? "keeping its former names" : "ignoring the file"
            file.complaint = "\(path) \(error.reason), \(consequence)"
            if !file.isMissing { file.problem = file.complaint }
        }
        return file
    }
}
