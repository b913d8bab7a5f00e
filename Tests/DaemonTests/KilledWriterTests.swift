// SPDX-License-Identifier: Apache-2.0
import DNSCache
import Glibc
import Net
import Resolver
import TestWorld
import Testing

@testable import Daemon

private enum Writer {
    static let entries = 300

    /// Writes the snapshot again and again until a thread kills the process.
    static func run(_ path: String, looks: Int) throws {
        nice(19)
        let now = Clock.now
        let cache = AnswerCache(limit: 1 << 20, origin: now, seed: 3)
        for index in 0..<entries {
            cache.insert(try .address("n\(index).example.com"), now: now)
        }
        let file = CacheSnapshotFile(
            file: PrivateFile(path),
            cache: cache,
            origins: AnswerSourceRegistry()
        )
        try file.file.removeLeftover()
        _ = try file.write(at: CacheSnapshotFile.Moment(.system), nil, StopSign())
        _ = try WorkerThread(named: "killer") {
            for _ in 0..<looks { access(path, F_OK) }
            kill(getpid(), SIGKILL)
        }
        while true { _ = try file.write(at: CacheSnapshotFile.Moment(.system), nil, StopSign()) }
    }
}

@Suite("A killed writer leaves a complete file", .timeLimit(.minutes(15)))
struct KilledWriterTests {
    private static let rounds = getenv("KILLED_WRITERS").flatMap { Int(String(cString: $0)) } ?? 20

    @Test
    func `a kill at any instant leaves a complete snapshot`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/cache.snapshot"
        var inTheMiddle = 0
        for round in 0..<Self.rounds {
            let looks = Int.random(in: 0..<20_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, looks = looks as Int] in
                try Writer.run(path, looks: looks)
            }
            let left = names(in: folder.path)
            if left.contains("cache.snapshot.tmp") { inTheMiddle += 1 }
            #expect(Set(left).isSubset(of: ["cache.snapshot", "cache.snapshot.tmp"]), "\(left)")

            let cache = AnswerCache(limit: 1 << 20, origin: Clock.now, seed: 4)
            let file = CacheSnapshotFile(
                file: PrivateFile(path),
                cache: cache,
                origins: AnswerSourceRegistry()
            )
            let loaded = try file.load(at: CacheSnapshotFile.Moment(.system), nil, StopSign())
            #expect(loaded?.summary.restored == UInt64(Writer.entries), "\(round)")
        }
        #expect(inTheMiddle > 0)
    }
}
