// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Glibc
internal import Logging
internal import Net
internal import Resolver

/// The cache's life beyond the process: loaded at the start, written every five minutes if the cache
/// has changed, and at the end.
///
/// Nobody waits for it but the end, and that not for long.  What the disk does happens on threads of
/// its own, one at a time.
@ServiceLoop
final class CacheFile {
    /// What the operator is shown.
    struct Numbers {
        let path: String

        /// The file that is there, as far as it is known.
        var latest: (instant: ContinuousClock.Instant, entries: UInt64, octets: Int)?

        /// Why the latest attempt failed; nil if it did not.
        var fault: String?
    }

    private(set) var numbers: Numbers

    /// Called with the questions asked most in the life before, most first, when they are loaded.
    var onLoad: (@ServiceLoop ([HotEntry]) -> Void)?

    /// Called when loading has ended, with or without answers.
    var onLoadEnd: (@ServiceLoop () -> Void)?

    private let file: SnapshotFile
    private let cache: AnswerCache
    private let clocks: Clocks
    private let logger: Logger

    /// End what is under way, loading and writing.
    private let (stopLoading, stopWriting) = (StopSign(), StopSign())

    /// What is done with the file, one thing after the other.
    private var work: Task<Void, Never>?

    /// What the cache was like when it was like the file; nil until the file has been looked at:
    /// before, a half-loaded cache would be written over the whole one.
    private var state: State?
    private var alarm: Alarm?

    /// How long a change of the cache may stay in memory only.
    static let interval: Duration = .seconds(300)

    /// Counters that tell whether the cache is as it was.
    private struct State {
        let contents: [UInt64]

        /// Answers given: what tells names in demand from others.
        let hits: UInt64

        /// A cache in which nothing has been.
        static let empty = State(contents: [0, 0, 0], hits: 0)

        private init(contents: [UInt64], hits: UInt64) {
            self.contents = contents
            self.hits = hits
        }

        /// The cache as it is now.
        init(_ cache: AnswerCache) {
            let numbers = cache.numbers
            contents = [numbers.insertions, numbers.entries, numbers.markedStale]
            hits = cache.hitsByServer.reduce(0, &+)
        }
    }

    /// Makes the keeper of the file at `path`; nothing is read or written yet.
    init(
        _ path: String,
        of cache: AnswerCache,
        _ origins: Origins,
        clocks: Clocks,
        logger: Logger
    ) {
        numbers = Numbers(path: path)
        file = SnapshotFile(file: PrivateFile(path), cache: cache, origins: origins)
        self.cache = cache
        self.clocks = clocks
        self.logger = logger
    }

    // MARK: - Life

    /// Begins to load, and to write now and then; returns at once.
    ///
    /// - Parameter leavesOut: picks questions that the settings answer now, on any thread.
    func start(leavingOut leavesOut: @escaping @Sendable (Question) -> Bool = { _ in false }) {
        let alarm = Alarm(clocks) { [weak self] in self?.writeNowAndThen() }
        self.alarm = alarm
        work = ServiceLoop.task { [self] in
            await load(leavesOut)
            onLoadEnd?()
            alarm.set(clocks.now() + Self.interval)
        }
    }

    /// Begins to write the cache as it is, which is another daemon's or an earlier path's no more;
    /// what the file holds is written over.
    func startAnew() {
        let alarm = Alarm(clocks) { [weak self] in self?.writeNowAndThen() }
        self.alarm = alarm
        state = .empty
        work = ServiceLoop.task { [self] in
            await write()
            alarm.set(clocks.now() + Self.interval)
        }
    }

    /// Waits until the file has been loaded, if it is being loaded.
    func loaded() async {
        if state == nil { await work?.value }
    }

    /// Writes no more; the file stays as it is.
    func abandon() {
        alarm?.set(nil)
        alarm = nil
        stopWriting.raise()
    }

    /// Writes what has changed, and waits for that until `deadline`.
    func finish(by deadline: ContinuousClock.Instant) async {
        alarm?.set(nil)
        if state == nil { stopLoading.raise() }
        let before = work
        let last = ServiceLoop.task { [self] in
            await before?.value
            if let state, changes(since: state) != .none { await write() }
        }
        guard await !Self.waits(for: last, until: deadline, clocks) else { return }
        stopWriting.raise()
        fail("\(numbers.path): the disk does not answer", consequence: "giving up")
    }

    /// Whether a task ends before `deadline`.
    private static func waits(
        for task: Task<Void, Never>,
        until deadline: ContinuousClock.Instant,
        _ clocks: Clocks
    ) async -> Bool {
        var waiting: CheckedContinuation<Bool, Never>?
        func end(_ result: Bool) {
            waiting?.resume(returning: result)
            waiting = nil
        }
        let patience = clocks.timer(deadline) { end(false) }
        ServiceLoop.task {
            await task.value
            end(true)
        }
        let result = await withCheckedContinuation { waiting = $0 }
        patience.cancel()
        return result
    }

    private func writeNowAndThen() {
        work = ServiceLoop.task { [self] in
            if let state, changes(since: state) == .contents { await write() }
            alarm?.set(clocks.now() + Self.interval)
        }
    }

    /// What has changed in the cache.
    private enum Changes {
        case none, demand, contents
    }

    private func changes(since state: State) -> Changes {
        let now = State(cache)
        return now.contents != state.contents
            ? .contents : now.hits != state.hits ? .demand : .none
    }

    // MARK: - Loading

    private func load(_ leavesOut: @escaping @Sendable (Question) -> Bool) async {
        let begin = SnapshotFile.Moment(clocks)
        let result: Result<SnapshotFile.Loaded?, SnapshotFile.LoadFault>
        do throws(SocketError) {
            result = try await WorkerThread.run(named: "snapshot") {
                [file, stopLoading, logger] in
                Self.removeLeftover(of: file, logger)
                return Result { () throws(SnapshotFile.LoadFault) in
                    try file.load(at: begin, leavingOut: leavesOut, stopLoading)
                }
            }
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
            logger.notice("stopping before \(numbers.path) was loaded, leaving it as it is")
        case .failure(.unread(let fault)):
            state = .empty
            fail(fault.sentence, consequence: "starting with an empty cache")
        case .failure(.damaged(let fault)):
            state = .empty
            await setAside(fault)
        }
    }

    /// Removes what an earlier life may have left; a fault of the directory shows again in writing.
    private nonisolated static func removeLeftover(of file: SnapshotFile, _ logger: Logger) {
        do throws(FileFault) {
            try file.file.removeLeftover()
        } catch {
            logger.debug("cache: \(error), ignoring")
        }
    }

    private func noteLoaded(_ loaded: SnapshotFile.Loaded, _ begin: SnapshotFile.Moment) {
        let summary = loaded.summary
        let passed = begin.wallTime - min(begin.wallTime, summary.writtenAt)
        numbers.latest = (
            begin.instant - .seconds(Int64(clamping: passed)), summary.entries, loaded.octets
        )
        // Unless somebody else has stored something meanwhile, the cache is what the file is.
        let now = State(cache)
        if now.contents[0] == summary.restored { state = now }
        if summary.writtenAt > begin.wallTime {
            logger.warning(
                """
                cache: \(numbers.path) was written \(summary.writtenAt - begin.wallTime) s from now \
                by this machine's clock, taking it as just written
                """
            )
        }
        logger.notice(
            """
            cache: loaded \(summary.restored) answers (\(summary.stale) stale) of \(passed) s ago \
            in \((clocks.now() - begin.instant).inWholeMilliseconds) ms from \(numbers.path)
            """
        )
        onLoad?(loaded.hottest)
    }

    /// Gives a damaged file another name, for somebody to look at.
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
            fault.map { "and it cannot be set aside (\($0)), ignoring it" }
            ?? "set aside as \(file.file.damagedPath), ignoring it"
        logger.error("cache: \(text); \(consequence)")
    }

    // MARK: - Writing

    private func write() async {
        let before = State(cache)
        let begin = SnapshotFile.Moment(clocks)
        let result: Result<SnapshotFile.Written, FileFault>
        do throws(SocketError) {
            result = try await WorkerThread.run(named: "snapshot") { [file, stopWriting] in
                Result { () throws(FileFault) in try file.write(at: begin, stopWriting) }
            }
        } catch {
            fail("\(error)", consequence: Self.keeping)
            return
        }
        switch result {
        case .success(let written):
            state = before
            numbers.latest = (begin.instant, written.entries, written.octets)
            numbers.fault = nil
            logger.info(
                """
                cache: wrote \(written.entries) answers, \(written.octets) octets, \
                in \((clocks.now() - begin.instant).inWholeMilliseconds) ms to \(numbers.path)
                """
            )
        case .failure(.stopped):
            // Said by the one who has stopped it.
            break
        case .failure(let fault):
            fail(fault.sentence, consequence: Self.keeping)
        }
    }

    private static let keeping = "keeping the old file, if any"

    /// Notes a fault, and logs it unless it is the one that was logged last.
    private func fail(_ fault: String, consequence: String) {
        if numbers.fault != fault { logger.warning("cache: \(fault), \(consequence)") }
        numbers.fault = fault
    }
}

extension Duration {
    /// Milliseconds, the begun one left out.
    fileprivate var inWholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

extension FileFault {
    /// The fault, and what helps against it where that is known.
    fileprivate var sentence: String { hint.map { "\(self) (\($0))" } ?? "\(self)" }

    private var hint: String? {
        switch self {
        case .symbolicLink, .notRegular: "`cache.snapshot` must be the path of a regular file"
        case .foreign: "remove it, or chown it to the user of the daemon"
        case .open(let path, _): "chmod 600 \(path)"
        case .busy: "does another daemon have the same `cache.snapshot`?"
        case .stopped: nil
        case .system(_, _, let code):
            switch code {
            case ENOENT, ENOTDIR: "make the directory, or change `cache.snapshot`"
            case EACCES, EPERM: "the user of the daemon may not write there"
            case EROFS: "in a sandbox of systemd, StateDirectory= makes a place to write"
            case ENOSPC, EDQUOT: "free some space"
            default: nil
            }
        }
    }
}
