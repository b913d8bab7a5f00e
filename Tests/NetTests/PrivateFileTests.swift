// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Net

@Suite("A file that is replaced atomically")
struct PrivateFileTests {
    let directory: TemporaryDirectory
    let file: PrivateFile

    init() throws {
        directory = try TemporaryDirectory()
        file = PrivateFile(directory.path("cache.snapshot"))
    }

    @discardableResult
    func replace(by pieces: [[UInt8]]) throws(FileFault) -> Int {
        var rest = pieces[...]
        return try file.replace { rest.popFirst() }
    }

    func contents() throws -> [UInt8]? {
        guard let reader = try file.open() else { return nil }
        var octets: [UInt8] = []
        while true {
            let piece = try reader.read(3, at: octets.count)
            if piece.isEmpty { return octets }
            octets += piece
        }
    }

    var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: directory.path("")).sorted()
        }
    }

    func plant(_ path: String, mode: Int = 0o600) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: Data("planted".utf8)))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test
    func `the file has the written content and is readable by its owner only`() throws {
        #expect(try contents() == nil)
        #expect(try replace(by: [[1, 2, 3, 4], [], [5]]) == 5)
        #expect(try contents() == [1, 2, 3, 4, 5])
        #expect(try replace(by: []) == 0)
        #expect(try contents() == [])
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try names == ["cache.snapshot"])
    }

    @Test
    func `a reader of the old file can continue to read the old file after a replacement`() throws {
        try replace(by: [[1, 2, 3]])
        guard let reader = try file.open() else { throw FileFault.stopped("") }
        try replace(by: [[4]])
        #expect(try reader.read(9, at: 0) == [1, 2, 3])
    }

    @Test
    func `after a write that fails, the old file is unchanged, and no temporary file remains`()
        throws
    {
        try replace(by: [[1, 2, 3]])
        var count = 0
        #expect(throws: FileFault.stopped("here")) {
            try file.replace { () throws(FileFault) in
                count += 1
                guard count < 3 else { throw .stopped("here") }
                return [9, 9]
            }
        }
        #expect(try contents() == [1, 2, 3])
        #expect(try names == ["cache.snapshot"])
    }

    @Test(arguments: [false, true])
    func `the temporary file of a killed writer is removed`(atStart: Bool) throws {
        try replace(by: [[1]])
        try plant(file.temporaryPath)
        if atStart { try file.removeLeftover() } else { try replace(by: [[2]]) }
        #expect(try names == ["cache.snapshot"])
        #expect(try contents() == [atStart ? 1 : 2])
        try file.removeLeftover()
    }

    @Test
    func `a symbolic link at the temporary path is removed, not followed`() throws {
        let victim = directory.path("victim")
        try plant(victim)
        try FileManager.default.createSymbolicLink(
            atPath: file.temporaryPath,
            withDestinationPath: victim
        )
        try replace(by: [[7]])
        #expect(try contents() == [7])
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "planted")
    }

    @Test
    func `while one writer writes the file, a second writer fails`() throws {
        let other = PrivateFile(file.path)
        var isFirst = true
        let octets = try file.replace { () throws(FileFault) in
            guard isFirst else { return nil }
            isFirst = false
            var fault: FileFault?
            do throws(FileFault) {
                _ = try other.replace { nil }
            } catch {
                fault = error
            }
            #expect(fault == .busy(file.temporaryPath))
            try other.removeLeftover()
            return [1]
        }
        #expect(octets == 1)
        #expect(try contents() == [1])
    }

    @Test(arguments: ["a link", "a directory", "a pipe", "open to others", "another's"])
    func `a file of wrong type, owner or mode is neither read nor replaced`(_ what: String) throws {
        let path = file.path
        let expected: FileFault
        switch what {
        case "a link":
            let target = directory.path("target")
            try plant(target)
            try FileManager.default.createSymbolicLink(
                atPath: path,
                withDestinationPath: target
            )
            expected = .symbolicLink(path)
        case "a directory":
            mkdir(path, 0o700)
            expected = .notRegular(path)
        case "a pipe":
            mkfifo(path, 0o600)
            expected = .notRegular(path)
        case "open to others":
            try plant(path, mode: 0o640)
            expected = .open(path, mode: 0o640)
        default:
            try plant(path)
            guard chown(path, 12_345, 0) == 0 else { return }
            expected = .foreign(path, owner: 12_345)
        }
        #expect(throws: expected) { try contents() }
        #expect(throws: expected) { try replace(by: [[1]]) }
        #expect(try !names.contains("cache.snapshot.tmp"))
        var status = stat()
        #expect(lstat(path, &status) == 0)
    }

    @Test
    func `if the directory is missing, there is no file, and a write error names the directory`()
        throws
    {
        let lost = PrivateFile(directory.path("no/such/file"))
        #expect(try lost.open() == nil)
        try lost.removeLeftover()
        #expect(
            throws: FileFault.system(
                call: "open",
                path: directory.path("no/such"),
                code: ENOENT
            )
        ) { try lost.replace { nil } }
    }

    @Test
    func `setting a damaged file aside replaces an earlier damaged file`() throws {
        for octets in [[1], [2]] as [[UInt8]] {
            try replace(by: [octets])
            try file.setAside()
        }
        #expect(try names == ["cache.snapshot.damaged"])
        let data = FileManager.default.contents(atPath: file.damagedPath)
        #expect(data.map(Array.init) == [2])
    }
}
