// SPDX-License-Identifier: Apache-2.0
internal import Administration
internal import DNSCache
internal import Glibc
internal import Logging
internal import Net
internal import Resolver

/// Snapshot file; one thread at a time accesses the disk.
@ServiceLoop
final class CacheFile {
    private(set) var numbers: CacheFileState

    /// Called with the questions that clients asked most often before the restart.
    var onLoad: (@ServiceLoop ([HotEntry]) -> Void)?

    var onLoadEnd: (@ServiceLoop () -> Void)?

    /// Nil during a sweep.
    var validity: @ServiceLoop () -> SnapshotValidity? = { nil }

    private let file: CacheSnapshotFile

    /// Nil before loading, and if the file cannot be locked.
    private var lock: FileLock?

    private var lockFault: String?

    /// True if the file is not a snapshot; then the daemon does not replace it.
    private var isOther = false

    /// True if the daemon does not know what the file contains.
    private var isUnexamined = false

    /// True if only a daemon writes this path; then the daemon replaces any file there.
    private let isOwn: Bool

    private let cache: AnswerCache
    private let clocks: Clocks
    private let logger: Logger
    private let (stopLoading, stopWriting) = (StopSign(), StopSign())
    private var work: Task<Void, Never>?

    /// Nil while loading, to prevent the write of a partial cache.
    private var state: State?
    private var alarm: Alarm?
    static let interval: Duration = .seconds(300)

    private struct State {
        let contents: [UInt64]
        let hits: UInt64
        static let empty = State(contents: [0, 0, 0], hits: 0)

        private init(contents: [UInt64], hits: UInt64) {
            self.contents = contents
            self.hits = hits
        }

        init(_ cache: AnswerCache) {
            let numbers = cache.numbers
            contents = [numbers.insertions, numbers.entries, numbers.markedStale]
            hits = cache.hitsByServer.reduce(0, &+)
        }
    }

    init(
        _ path: String,
        isOwn: Bool,
        of cache: AnswerCache,
        _ origins: AnswerSourceRegistry,
        clocks: Clocks,
        logger: Logger
    ) {
        numbers = CacheFileState(path: path)
        file = CacheSnapshotFile(file: PrivateFile(path), cache: cache, origins: origins)
        self.isOwn = isOwn
        self.cache = cache
        self.clocks = clocks
        self.logger = logger
    }

    // MARK: - Life

    /// Loads the answers that do not contradict the settings; then writes the file at intervals.
    func start() {
        let alarm = Alarm(clocks) { [weak self] in self?.writeNowAndThen() }
        self.alarm = alarm
        work = ServiceLoop.task { [self] in
            await load()
            onLoadEnd?()
            onLoadEnd = nil
            alarm.set(clocks.now() + Self.interval)
        }
    }

    func startAnew() {
        let alarm = Alarm(clocks) { [weak self] in self?.writeNowAndThen() }
        self.alarm = alarm
        state = .empty
        isUnexamined = true
        work = ServiceLoop.task { [self] in
            await write()
            alarm.set(clocks.now() + Self.interval)
        }
    }

    var isLoading: Bool { state == nil && work != nil }
    func loaded() async { if isLoading { await work?.value } }

    func abandon() {
        alarm?.set(nil)
        alarm = nil
        stopWriting.raise()
        lock = nil
    }

    /// Writes the cache if it has changed; waits until `deadline`.
    func finish(by deadline: Instant) async {
        alarm?.set(nil)
        if state == nil { stopLoading.raise() }
        let before = work
        let last = ServiceLoop.task { [self] in
            await before?.value
            if let state, changes(since: state) != .none { await write() }
            lock = nil
        }
        let waiter = Waiter()
        ServiceLoop.task {
            await last.value
            waiter.resume(.ready)
        }
        guard await waiter.wait(until: deadline, clocks) != .ready else { return }
        stopWriting.raise()
        fail("\(numbers.path): the disk does not respond", consequence: "no new snapshot")
    }

    private func writeNowAndThen() {
        work = ServiceLoop.task { [self] in
            if let state, changes(since: state) == .contents { await write() }
            alarm?.set(clocks.now() + Self.interval)
        }
    }

    private enum Changes {
        case none, demand, contents
    }

    private func changes(since state: State) -> Changes {
        let now = State(cache)
        return now.contents != state.contents
            ? .contents : now.hits != state.hits ? .demand : .none
    }

    // MARK: - Loading

    private func load() async {
        let begin = CacheSnapshotFile.Moment(clocks)
        let validity = validity()
        let result: Result<CacheSnapshotFile.Loaded?, CacheSnapshotFile.LoadFault>
        do throws(SocketError) {
            let lock: Result<FileLock, FileFault>
            (lock, result) = try await WorkerThread.run(named: "snapshot") {
                [file, stopLoading, logger] in
                let lock = Result { () throws(FileFault) in try FileLock(of: file.file.path) }
                Self.removeLeftover(of: file, logger)
                let loaded = Result { () throws(CacheSnapshotFile.LoadFault) in
                    try file.load(at: begin, validity, stopLoading)
                }
                return (lock, loaded)
            }
            take(lock)
        } catch {
            fail("\(error)", consequence: "starting with an empty cache")
            state = .empty
            return
        }
        switch result {
        case .success(let loaded):
            state = .empty
            if let loaded { noteLoaded(loaded, begin) }
        case .failure(.unread(.stopped)):
            logger.notice("cache: stopped before \(numbers.path) was loaded, keeping the file")
        case .failure(.unread(let fault)):
            state = .empty
            isUnexamined = true
            fail(fault.sentence, consequence: "starting with an empty cache")
        case .failure(.damaged(let fault)) where numbers.isContended,
            .failure(.foreign(let fault)) where numbers.isContended:
            state = .empty
            logger.error("cache: \(numbers.path): \(fault); starting with an empty cache")
        case .failure(.foreign) where !isOwn:
            state = .empty
            refuse()
        case .failure(.damaged(let fault)), .failure(.foreign(let fault)):
            state = .empty
            await setAside(fault)
        }
    }

    /// Stops writes, because the path in the settings may be wrong.
    private func refuse() {
        isOther = true
        fail(
            "\(numbers.path) is not a cache snapshot",
            consequence: Self.notSaving
                + "; correct `cache.snapshot`, or remove the file, and restart"
        )
    }

    private func take(_ result: Result<FileLock, FileFault>) {
        switch result {
        case .success(let lock):
            self.lock = lock
            lockFault = nil
            numbers.isContended = false
        case .failure(.used(let path, let process)):
            numbers.isContended = true
            fail(FileFault.used(path, process: process).sentence, consequence: Self.notSaving)
        case .failure(let fault):
            numbers.isContended = false
            lockFault = fault.sentence
            fail(fault.sentence, consequence: Self.notSaving)
        }
    }

    private nonisolated static func removeLeftover(of file: CacheSnapshotFile, _ logger: Logger) {
        do throws(FileFault) {
            try file.file.removeLeftover()
        } catch {
            logger.debug("cache: \(error), ignoring")
        }
    }

    private func noteLoaded(_ loaded: CacheSnapshotFile.Loaded, _ begin: CacheSnapshotFile.Moment) {
        let summary = loaded.summary
        let passed = begin.wallTime - min(begin.wallTime, summary.writtenAt)
        numbers.latest = (
            begin.instant - .seconds(Int64(clamping: passed)), summary.entries, loaded.octets
        )
        let now = State(cache)
        if now.contents[0] == summary.restored { state = now }
        if summary.writtenAt > begin.wallTime {
            logger.warning(
                """
                cache: \(numbers.path): written \(summary.writtenAt - begin.wallTime) s in the future \
                by this machine's clock; above 60 s, all entries are restored as stale
                """
            )
        }
        logger.notice(
            """
            cache: entries restored: \(summary.restored) (\(summary.stale) stale) in \
            \((clocks.now() - begin.instant).inWholeMilliseconds) ms, snapshot \(passed) s old, \
            file \(numbers.path)
            """
        )
        onLoad?(loaded.hottest)
    }

    private func setAside(_ damage: SnapshotError) async {
        let text = "\(numbers.path): \(damage)"
        numbers.fault = text
        let fault: (any Error)?
        do {
            fault = try await WorkerThread.run(named: "snapshot") { [file] in
                do throws(FileFault) {
                    try file.file.setAside()
                    return nil
                } catch {
                    return error
                }
            }
        } catch {
            fault = error
        }
        let consequence =
            fault.map { "cannot rename the file (\($0)), ignoring the file" }
            ?? "the file was renamed to \(file.file.damagedPath) and is ignored"
        logger.error("cache: \(text); \(consequence)")
    }

    // MARK: - Writing

    private func write() async {
        if isUnexamined, !isOther, !isOwn {
            let isOther = try? await WorkerThread.run(named: "snapshot") { [file] in
                file.isOther
            }
            if isOther ?? false { refuse() }
        }
        guard !isOther else { return }
        let before = State(cache)
        let begin = CacheSnapshotFile.Moment(clocks)
        let validity = validity()
        let result: Result<CacheSnapshotFile.Written, FileFault>
        do throws(SocketError) {
            if lock == nil {
                take(
                    try await WorkerThread.run(named: "snapshot") { [file] in
                        Result { () throws(FileFault) in try FileLock(of: file.file.path) }
                    }
                )
                guard !numbers.isContended, !stopWriting.isUp else { return }
            }
            result = try await WorkerThread.run(named: "snapshot") { [file, stopWriting] in
                Result { () throws(FileFault) in
                    try file.write(at: begin, validity, stopWriting)
                }
            }
        } catch {
            fail("\(error)", consequence: Self.keeping)
            return
        }
        switch result {
        case .success(let written):
            state = before
            isUnexamined = false
            numbers.latest = (begin.instant, written.entries, written.octets)
            numbers.fault = nil
            logger.info(
                """
                cache: entries saved: \(written.entries), \(written.octets) octets, in \
                \((clocks.now() - begin.instant).inWholeMilliseconds) ms, file \(numbers.path)
                """
            )
        case .failure(.stopped): break
        case .failure where lockFault != nil: break
        case .failure(let fault): fail(fault.sentence, consequence: Self.keeping)
        }
    }

    private static let keeping = "keeping the old file, if any"
    private static let notSaving = "not saving the cache"

    private func fail(_ fault: String, consequence: String) {
        if numbers.fault != fault { logger.warning("cache: \(fault), \(consequence)") }
        numbers.fault = fault
    }
}

extension Duration {
    fileprivate var inWholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension FileFault {
    fileprivate var sentence: String { hint.map { "\(self) (\($0))" } ?? "\(self)" }

    private var hint: String? {
        switch self {
        case .symbolicLink, .notRegular: "`cache.snapshot` must be the path of a regular file"
        case .foreign: "remove the file, or change its owner to the daemon's user"
        case .open(let path, _): "if the file is a snapshot, run `chmod 600 \(path)`"
        case .busy: "check if another daemon uses the same `cache.snapshot`"
        case .used: "each daemon needs its own `cache.snapshot`"
        case .stopped: nil
        case .system(_, _, let code):
            switch code {
            case ENOENT, ENOTDIR: "create the directory, or change `cache.snapshot`"
            case EACCES, EPERM: "the daemon's user has no write permission"
            case EROFS: "in a systemd sandbox, StateDirectory= provides a writable directory"
            case ENOSPC, EDQUOT: "free disk space"
            default: nil
            }
        }
    }
}
