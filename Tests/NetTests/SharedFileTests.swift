// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Locks
import TestWorld
import Testing

@testable import Net

@Suite("File that processes share")
@ServiceLoop
struct SharedFileTests {
    private let folder = try? TemporaryFolder()

    private var path: String { (folder?.path ?? "") + "/state" }

    private func content(of file: SharedFile) throws -> String {
        let content = try file.change { (nil, Array($0)) }
        return String(decoding: content, as: Unicode.UTF8.self)
    }

    @Test("a new file gets the initial content; an existing file keeps its content")
    func initial() throws {
        let file = SharedFile(path, initial: Array("first".utf8))
        #expect(try content(of: file) == "first")
        try file.change { _ in (Array("second".utf8), ()) }
        #expect(try content(of: SharedFile(path, initial: Array("third".utf8))) == "second")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: try #require(folder).path
        )
        #expect(names == ["state"])
    }

    @Test("a path that is not a regular file is reported as obstructed")
    func obstructed() throws {
        #expect(try content(of: SharedFile(path, initial: [])) == "")
        let link = path + "-link"
        #expect(symlink("missing", link) == 0)
        let pipe = path + "-pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let folder = path + "-folder"
        #expect(mkdir(folder, 0o700) == 0)
        for (path, isObstructed) in [
            (link, true), (pipe, true), (folder, true), (path + "/x", false),
        ] {
            do throws(SharedFile.Fault) {
                _ = try SharedFile(path, initial: []).change { _ in (nil, ()) }
                Issue.record("\(path) was opened")
            } catch {
                guard case .unavailable(_, isObstructed) = error else {
                    Issue.record("\(path): \(error)")
                    continue
                }
            }
        }
    }

    @Test("after a failed wait for the lock, changes fail immediately for 1 s")
    func locked() throws {
        let clock = Lock((now: Clock.now, readings: 0))
        let file = SharedFile(path, initial: []) {
            clock.withLock { clock in
                clock.readings += 1
                clock.now += .milliseconds(10)
                return clock.now
            }
        }
        #expect(try content(of: file) == "")
        let other = open(path, O_RDWR)
        defer { close(other) }
        #expect(flock(other, LOCK_EX) == 0)
        #expect(throws: SharedFile.Fault.self) { try content(of: file) }
        #expect(flock(other, LOCK_UN) == 0)
        clock.withLock { $0.readings = 0 }
        #expect(throws: SharedFile.Fault.self) { try content(of: file) }
        #expect(clock.withLock(\.readings) == 1)
        clock.withLock { $0.now += .seconds(1) }
        #expect(try content(of: file) == "")
    }

    @Test("while a file system does not respond, changes fail; the pending change happens later")
    func stuck() async throws {
        let thread = FileThread()
        let file = SharedFile(path, initial: Array("first".utf8), thread: thread)
        #expect(try content(of: file) == "first")
        let (hold, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        #expect(throws: SharedFile.Fault.self) {
            try file.change { _ in
                hold.signal()
                release.wait()
                return (Array("later".utf8), ())
            }
        }
        #expect(hold.wait(timeout: .now()) == .success)
        #expect(throws: SharedFile.Fault.self) { try content(of: file) }
        #expect(throws: SharedFile.Fault.self) { try file.change { _ in ([], ()) } }
        release.signal()
        var latest: String?
        while latest == nil {
            latest = try? content(of: file)
            await Task.yield()
        }
        #expect(latest == "later")
    }

    @Test("a full disk leaves the old content", .enabled(if: geteuid() == 0, "mount needs root"))
    func full() throws {
        let disk = try #require(folder).path
        #expect(mount("none", disk, "tmpfs", 0, "size=4096") == 0)
        // The thread of `file` may close its descriptor after this unmount, so the unmount is lazy.
        defer { #expect(umount2(disk, Int32(MNT_DETACH)) == 0) }
        let file = SharedFile(path, initial: Array("first".utf8))
        #expect(try content(of: file) == "first")
        #expect(throws: SharedFile.Fault.self) {
            try file.change { _ in ([UInt8](repeating: 0x41, count: 8_000), ()) }
        }
        #expect(try content(of: file).split(separator: "\n") == ["first"])
        try file.change { _ in (Array("second".utf8), ()) }
        #expect(try content(of: file).split(separator: "\n") == ["second"])
    }

    @Test("an existing empty file counts as damaged, and stays empty")
    func truncated() throws {
        try Data().write(to: URL(filePath: path))
        #expect(try content(of: SharedFile(path, initial: Array("first".utf8))) == "")
    }
}
