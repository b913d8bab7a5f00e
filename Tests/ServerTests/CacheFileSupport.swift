// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Glibc
import Locks
import Logging
import Net
import Resolver

@testable import Server

/// A clock that a test advances, and that reports when a timer is set.
@ServiceLoop
final class TestClock {
    private(set) var now: ContinuousClock.Instant
    var wallSeconds: Int64 = 1_700_000_000
    private var timers: [Timer] = []

    /// The test's continuation while it waits for a timer to be set.
    private var observer: CheckedContinuation<Void, Never>?

    /// A pending timer.
    private final class Timer: Cancellable {
        let end: ContinuousClock.Instant
        let action: @ServiceLoop () -> Void
        private unowned let hours: TestClock

        init(
            _ end: ContinuousClock.Instant,
            _ hours: TestClock,
            _ action: @escaping @ServiceLoop () -> Void
        ) {
            self.end = end
            self.hours = hours
            self.action = action
        }

        func cancel() { hours.timers.removeAll { $0 === self } }
    }

    nonisolated init() { now = ContinuousClock.now }

    var clocks: Clocks {
        Clocks(
            now: { ServiceLoop.assumeIsolated { self.now } },
            wallSeconds: { ServiceLoop.assumeIsolated { self.wallSeconds } },
            timer: { end, action in
                let timer = Timer(end, self, action)
                self.timers.append(timer)
                self.observer?.resume()
                self.observer = nil
                return timer
            }
        )
    }

    /// Waits until a timer is set.
    func rest() async {
        guard timers.isEmpty else { return }
        await withCheckedContinuation { observer = $0 }
    }

    /// Advances both clocks and fires the timers that are due.
    func advance(by seconds: Int64) {
        now += .seconds(seconds)
        wallSeconds += seconds
        let due = timers.filter { $0.end <= now }
        timers.removeAll { $0.end <= now }
        for timer in due { timer.action() }
    }
}

/// Stores log lines.
final class LogRecorder: Sendable {
    private let lines = Lock<[String]>([])

    /// All lines, each after its level.
    var all: [String] { lines.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { [self] _ in Handler(diary: self) }
    }

    private struct Handler: LogHandler {
        let diary: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            diary.lines.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}

/// The cache and its snapshot file during one run of the daemon.
@ServiceLoop
final class Run {
    let cache: AnswerCache
    let origins = AnswerSourceRegistry()
    let hours: TestClock
    let diary = LogRecorder()
    let file: CacheFile
    var hot: [HotEntry]?

    init(_ path: String, _ hours: TestClock, size: Int = 1 << 20) {
        cache = AnswerCache(limit: size, origin: hours.now, seed: 5)
        self.hours = hours
        file = CacheFile(path, of: cache, origins, clocks: hours.clocks, logger: diary.logger)
        file.onLoad = { [weak self] in self?.hot = $0 }
    }

    /// Starts and waits until the snapshot file has been read.
    func start() async {
        file.start()
        await hours.rest()
    }

    /// Ends as the daemon does, with 2 s for the last snapshot.
    func finish() async { await file.finish(by: hours.now + .seconds(2)) }

    func insert(_ name: String, ttl: UInt32 = 600, stale: UInt32 = 0, server: String = "v/1") throws
    {
        cache.insert(
            try .address(name, ttl: ttl, stale: stale, server: origins.number(labelled: server)),
            now: hours.now
        )
    }

    /// Inserts many answers, and yields to other jobs of the loop.
    func fill(_ count: Int) async throws {
        for index in 0..<count {
            try insert("n\(index).example.com")
            if index % 20 == 0 { await Task.yield() }
        }
    }

    func entry(_ name: String) throws -> CacheEntry? {
        cache.entries(named: try Name(name), type: nil, now: hours.now).first
    }
}

extension CachedAnswer {
    /// Returns an answer with one address.
    static func address(
        _ name: String,
        ttl: UInt32 = 600,
        stale: UInt32 = 0,
        server: UInt16 = 0
    ) throws -> CachedAnswer {
        let question = Question(name: try Name(name), type: .a)
        let record = Record(
            name: question.name,
            ttl: ttl,
            data: .a(IPv4Address(value: 0xC000_0201))
        )
        return CachedAnswer(
            question: question,
            variant: .any,
            rcode: .noError,
            sections: try AnswerSections(question: question, answers: [record]),
            lifetime: ttl,
            source: .vendor,
            server: server,
            staleWindow: stale
        )
    }
}

/// Returns the names of the files in a directory.
func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
