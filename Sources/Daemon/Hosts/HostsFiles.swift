// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Glibc
internal import Logging
internal import Net
internal import Resolver

/// Reader of the hosts files, which reads them again after changes.
///
/// A missing file is treated as empty.
@ServiceLoop
final class HostsFiles {
    /// Maximum octets of a hosts file; longer files are ignored.
    nonisolated static let mostOctets = 8 << 20

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

    init(_ settings: HostsSettings, logger: Logger) {
        self.settings = settings
        self.logger = logger
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
                logger.warning("hosts: cannot watch \(path): \(fault), reading it every 10 s")
            }
        }
        await read()
    }

    func stop() {
        isStopped = true
        watches = []
        alarm?.set(nil)
    }

    func read() async {
        hasChanged = true
        guard !isReading else { return }
        isReading = true
        while hasChanged {
            hasChanged = false
            let settings = settings
            let result: HostsReading
            do throws(SocketError) {
                result = try await WorkerThread.run(named: "hosts") { HostsReading(settings) }
            } catch {
                logger.error("hosts: \(error), keeping the old table, retrying in 10 s")
                alarm?.bring(forward: Clock.now + Self.retry)
                break
            }
            // After a reload, the table of the former settings must not replace the new table.
            guard !isStopped else { break }
            table = result.table
            for file in result.files { log(file) }
            if table.leftOut > 0 {
                log("the table is full, ignoring \(table.leftOut) names and addresses")
            }
            onChange?(table)
            logger.info("hosts: names loaded: \(table.count)")
        }
        isReading = false
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

    private func log(_ complaint: String) {
        guard logged[""] != complaint else { return }
        logged[""] = complaint
        logger.warning("hosts: \(complaint)")
    }
}

struct HostsReading: Sendable {
    struct File: Sendable {
        let path: String
        var complaint: String?
        var isMissing = false
    }

    private(set) var table: HostsTable
    private(set) var files: [File] = []

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
                    let lines = faults.count == 1 ? "the line" : "\(faults.count) invalid lines"
                    file.complaint = "\(path):\(first.line): \(first.reason), ignoring \(lines)"
                }
            } catch {
                file.complaint = "\(path) \(error.reason), ignoring the file"
                file.isMissing = error == .system(ENOENT)
            }
            files.append(file)
        }
    }
}
