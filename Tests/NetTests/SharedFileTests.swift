// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("File that processes share")
@ServiceLoop
struct SharedFileTests {
    private let folder = try? TemporaryFolder()

    private var path: String { (folder?.path ?? "") + "/state" }

    private func content(of file: SharedFile) throws -> String {
        var content: [UInt8] = []
        try file.change {
            content = Array($0)
            return nil
        }
        return String(decoding: content, as: Unicode.UTF8.self)
    }

    @Test("a new file has its initial content, which a second object does not write again")
    func initial() throws {
        let file = SharedFile(path, initial: Array("first".utf8))
        #expect(try content(of: file) == "first")
        try file.change { _ in Array("second".utf8) }
        #expect(try content(of: SharedFile(path, initial: Array("third".utf8))) == "second")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: try #require(folder).path
        )
        #expect(names == ["state"])
    }

    @Test("after a failed wait for the lock, changes fail immediately for 1 s")
    func locked() throws {
        let file = SharedFile(path, initial: [])
        var now = Clock.now
        var readings = 0
        file.now = {
            readings += 1
            now += .milliseconds(10)
            return now
        }
        #expect(try content(of: file) == "")
        let other = open(path, O_RDWR)
        defer { close(other) }
        #expect(flock(other, LOCK_EX) == 0)
        #expect(throws: SharedFile.Fault.self) { try content(of: file) }
        #expect(flock(other, LOCK_UN) == 0)
        readings = 0
        #expect(throws: SharedFile.Fault.self) { try content(of: file) }
        #expect(readings == 1)
        now += .seconds(1)
        #expect(try content(of: file) == "")
    }

    @Test("an existing empty file stays empty: it was truncated")
    func truncated() throws {
        try Data().write(to: URL(filePath: path))
        #expect(try content(of: SharedFile(path, initial: Array("first".utf8))) == "")
    }
}
