// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import HTTPDNS
import Net
import TestWorld
import Testing

@testable import Daemon

@Suite("File with the billed units")
@ServiceLoop
struct UsageFileTests {
    private let folder = try? TemporaryFolder()
    private let today: Int64 = 20_000

    private func file() throws -> UsageFile { UsageFile(directory: try #require(folder).path) }

    private var path: String { (folder?.path ?? "") + "/usage.state" }

    private func add(_ units: UInt64, of vendor: String, to file: UsageFile) -> UsageRecord? {
        file.update(vendor, today: today, durably: true) {
            $0.add(UsageAmount(calls: 1, units: units))
            return true
        }
    }

    @Test("all `UsageFile` objects of one directory share the counts in the file")
    func shared() throws {
        let (first, second) = (try file(), try file())
        #expect(add(5, of: "a", to: first)?.unitsToday == 5)
        #expect(add(7, of: "a", to: second)?.unitsToday == 12)
        #expect(add(1, of: "b", to: first)?.unitsThisMonth == 1)
        let third = try file()
        #expect(third.update("a", today: today, durably: true) { _ in false }?.callsToday == 2)
        #expect(third.problem == nil)
    }

    @Test("a file with a changed, missing or additional octet is damaged")
    func damage() throws {
        let octets = text(units: 20)
        #expect(UsageFile.records(octets)?["a"]?.unitsThisMonth == 20)
        for index in octets.indices {
            var other = octets
            other[index] ^= 1
            #expect(UsageFile.records(other) == nil, "octet \(index)")
            #expect(UsageFile.records(octets[..<index]) == nil, "\(index) octets")
        }
        #expect(UsageFile.records(octets + octets) == nil)
    }

    @Test("a record with numbers that would overflow is damaged")
    func overflow() {
        #expect(UsageFile.records(text(units: 1 << 60)) != nil)
        #expect(UsageFile.records(text(units: 1 << 60 + 1)) == nil)
        #expect(UsageFile.records(text(units: .max)) == nil)
    }

    private func text(units: UInt64) -> [UInt8] {
        let record = UsageRecord(
            day: today,
            latestDay: today,
            calls: 1,
            units: units,
            unitsThisMonth: units
        )
        return UsageFile.octets(["a": record])
    }

    @Test("lines with the counts of other days have as many fields as older daemons expect")
    func otherDays() throws {
        var record = UsageRecord(day: today)
        record.add(UsageAmount(calls: 8, units: 9))
        record.move(to: today + 40)
        record.add(UsageAmount(calls: 1, units: 2))
        record.move(to: today)
        record.move(to: today + 1)
        let octets = UsageFile.octets(["a": record])
        #expect(UsageFile.records(octets) == ["a": record])
        #expect(record.former.map(\.use) == [UsageAmount(calls: 9, units: 11)])
        let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
        #expect(lines.dropFirst().dropLast().allSatisfy { $0.split(separator: " ").count >= 6 })
    }

    @Test("the line with the latest clients has the format of a vendor's line")
    func clients() throws {
        var record = UsageRecord(day: today)
        record.clients = StoredClients(
            last: ClientNetwork(of: try #require(IPAddress("ffff::")), isProven: true).number,
            othersAt: 1_700_000_000,
            provenAt: 1_700_000_002,
            unprovenAt: 1_700_000_001
        )
        let octets = UsageFile.octets(["a": record, "a-b": UsageRecord(day: today)])
        #expect(UsageFile.records(octets)?["a"] == record)
        #expect(UsageFile.records(octets)?["a-b"] == UsageRecord(day: today))
        let text = String(decoding: octets, as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasSuffix("a (clients)") })
        let fields = line.split(separator: " ", maxSplits: 5)
        let numbers = fields.prefix(5).compactMap { Int64($0) }
        try #require(numbers.count == 5 && fields.last == "a (clients)")
        // An older daemon accepts numbers up to 2^60, and stores the line as the line of a vendor.
        #expect(numbers.allSatisfy { 0...1 << 60 ~= $0 })
        let other = UsageRecord(
            day: numbers[0],
            latestDay: numbers[1],
            calls: UInt64(numbers[2]),
            units: UInt64(numbers[3]),
            unitsThisMonth: UInt64(numbers[4])
        )
        let old = UsageFile.octets(["a": UsageRecord(day: today), "a (clients)": other])
        #expect(UsageFile.records(old) == ["a": record])
    }

    @Test("a reset of the counts keeps the latest clients")
    func resetKeepsClients() throws {
        let file = try file()
        let clients = StoredClients(last: 1, othersAt: 2, provenAt: 3, unprovenAt: 4)
        _ = file.update("a", today: today, durably: true) {
            $0.add(UsageAmount(calls: 1, units: 1))
            $0.clients = clients
            return true
        }
        try file.reset("a", today: today)
        let record = try self.file().update("a", today: today, durably: true) { _ in false }
        #expect(record?.callsToday == 0)
        #expect(record?.clients == clients)
    }

    @Test("if a shorter text replaces the old text, the file keeps its size")
    func shorter() throws {
        let file = try file()
        _ = add(1_000, of: "a", to: file)
        let size = try Data(contentsOf: URL(filePath: path)).count
        _ = file.update("a", today: today, durably: true) {
            $0.remove(UsageAmount(calls: 0, units: 999))
            return true
        }
        let content = try Data(contentsOf: URL(filePath: path))
        #expect(content.count == size)
        #expect(UsageFile.records(Array(content))?["a"]?.unitsToday == 1)
    }

    @Test("if the file is renamed, all daemons count in a new file")
    func renamed() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        let other = try self.file()
        _ = add(7, of: "a", to: other)
        #expect(add(5, of: "a", to: file)?.unitsToday == 12)
    }

    @Test("a reset does not change a file of another version")
    func resetOfOtherVersion() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        _ = add(7, of: "b", to: file)
        let content = try String(contentsOfFile: path, encoding: .utf8)
        let other = content.replacing("httpdnsd usage 1", with: "httpdnsd usage 2")
        try Data(other.utf8).write(to: URL(filePath: path))
        let error = #expect(throws: UsageStoreError.self) { try file.reset("a", today: today) }
        #expect(
            error?.description
                == "another version of httpdnsd has written \(path); install that version again"
        )
        #expect(try String(contentsOfFile: path, encoding: .utf8) == other)
    }

    @Test("if the file is deleted after a reset, the counts before the reset do not return")
    func deletedAfterReset() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        _ = add(7, of: "b", to: file)
        try file.reset("a", today: today)
        try FileManager.default.removeItem(atPath: path)
        #expect(add(1, of: "a", to: file)?.unitsToday == 1)
        #expect(add(1, of: "b", to: file)?.unitsToday == 8)
    }

    @Test("the counts of a deleted file are written again by a running daemon")
    func deleted() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        _ = add(7, of: "b", to: file)
        try FileManager.default.removeItem(atPath: path)
        #expect(add(1, of: "a", to: file)?.unitsToday == 6)
        #expect(add(1, of: "b", to: try self.file())?.unitsToday == 8)
    }

    @Test("the counts of a damaged file are unknown until the operator resets the file")
    func reset() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        try Data("rubbish".utf8).write(to: URL(filePath: path))
        #expect(add(5, of: "a", to: file) == nil)
        #expect(
            file.problem
                == "usage unknown: damaged state file \(path); run `httpdnsctl bill --reset a`,"
                + " which sets the counts of all vendors to 0"
        )
        try file.reset("a", today: today)
        #expect(file.problem == nil)
        #expect(add(5, of: "a", to: file)?.unitsToday == 5)
        try FileManager.default.removeItem(atPath: path)
        #expect(add(5, of: "a", to: file)?.unitsToday == 10)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("the daemon refuses a file of another version, and the error does not suggest `--reset`")
    func otherVersion() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        let content = try String(contentsOfFile: path, encoding: .utf8)
        for (header, isOther) in [
            ("httpdnsd usage 2", true), ("httpdnsd usage 10", true), ("httpdnsd usage ", false),
            ("httpdnsd usage x", false), ("httpdnsd use 2", false),
        ] {
            let text = content.replacing("httpdnsd usage 1", with: header)
            try Data(text.utf8).write(to: URL(filePath: path))
            // On a busy machine, a child process of another test can hold the lock for some time.
            repeat {
                #expect(add(5, of: "a", to: file) == nil)
            } while file.problem?.contains("holds the lock") ?? false
            let problem = try #require(file.problem)
            #expect(problem.contains("another version of httpdnsd has written \(path)") == isOther)
            #expect(problem.contains("--reset") != isOther)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }

    @Test("a truncated file counts as damaged, so that the daemon does not forget the day's calls")
    func truncated() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        let content = try Data(contentsOf: URL(filePath: path))
        for count in [0, 1, content.count - 1] {
            try content.prefix(count).write(to: URL(filePath: path))
            #expect(add(5, of: "a", to: file) == nil, "\(count) octets")
            #expect(add(5, of: "a", to: try self.file()) == nil, "\(count) octets")
        }
    }

    @Test("creating the file leaves no temporary file")
    func new() throws {
        let file = try file()
        #expect(file.update("a", today: today, durably: true) { _ in false } != nil)
        let content = try Data(contentsOf: URL(filePath: path))
        #expect(UsageFile.records(Array(content))?["a"] == UsageRecord(day: today))
        let names = try FileManager.default.contentsOfDirectory(atPath: try #require(folder).path)
        #expect(names == ["usage.state"])
    }

    @Test(
        "without a directory, counts stay in memory, but are unknown with `on-exceeded: fallback`"
    )
    func unavailable() throws {
        let file = UsageFile(directory: "/dev/null/httpdnsd")
        func use(durably: Bool) -> UsageRecord? {
            file.update("a", today: today, durably: durably) {
                $0.add(UsageAmount(calls: 1, units: 5))
                return true
            }
        }
        #expect(use(durably: false)?.unitsToday == 5)
        #expect(use(durably: false)?.unitsToday == 10)
        #expect(file.problem?.hasPrefix("usage not stored: cannot create") == true)
        #expect(use(durably: true) == nil)
        #expect(file.problem?.hasPrefix("usage unknown: cannot create") == true)
        #expect(file.problem?.contains("$STATE_DIRECTORY") == true)
        let error = #expect(throws: UsageStoreError.self) { try file.reset("a", today: today) }
        #expect(error?.description.contains("; set $STATE_DIRECTORY") == true)
    }

    @Test(
        "if a directory has the path of the file, `problem` and the error of a reset advise removal"
    )
    func obstructed() throws {
        let file = try file()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(add(1, of: "a", to: file) == nil)
        let error = #expect(throws: UsageStoreError.self) { try file.reset("a", today: today) }
        for text in [file.problem, error?.description] {
            #expect(text?.hasSuffix("; remove \(path)") == true, "\(text ?? "")")
        }
    }

    @Test(
        "with a full disk, counts continue in memory, but are unknown with `on-exceeded: fallback`",
        .enabled(if: geteuid() == 0, "mount needs root")
    )
    func fullDisk() throws {
        let disk = try #require(folder).path
        #expect(mount("none", disk, "tmpfs", 0, "size=4096") == 0)
        // The thread of `file` may close its descriptor after this unmount, so the unmount is lazy.
        defer { #expect(umount2(disk, Int32(MNT_DETACH)) == 0) }
        let file = try file()
        func use(_ units: UInt64, durably: Bool = false) -> UsageRecord? {
            file.update("a", today: today, durably: durably) {
                $0.add(UsageAmount(calls: 1, units: units))
                return true
            }
        }
        #expect(use(5)?.unitsToday == 5)
        // Fills the disk to the length of a line.
        for name in [String(repeating: "b", count: 200), "c"] {
            for index in 0... where add(1, of: "\(name)\(index)", to: file) == nil { break }
        }
        #expect(file.problem?.hasPrefix("usage unknown: cannot write \(path): No space") == true)
        let many: UInt64 = 1 << 50
        #expect(use(many)?.unitsToday == many + 5)
        #expect(use(many)?.unitsToday == 2 * many + 5)
        #expect(file.problem?.hasPrefix("usage not stored: cannot write \(path): No space") == true)
        #expect(use(many, durably: true) == nil)
        #expect(mount("none", disk, "tmpfs", UInt(MS_REMOUNT), "size=8192") == 0)
        #expect(use(1)?.unitsToday == 6)
        #expect(file.problem == nil)
    }

    @Test("while the clock is years ahead, a call of one vendor does not remove another's counts")
    func clockAhead() throws {
        let folder = try #require(folder)
        let file = UsageFile(directory: folder.path)
        func use(_ vendor: String, _ today: Int64) -> UInt64? {
            file.update(vendor, today: today, durably: true) {
                $0.add(UsageAmount(calls: 1, units: 5))
                return true
            }?.unitsToday
        }
        #expect(use("b", today) == 5)
        #expect(use("a", today + 1_000) == 5)
        #expect(use("b", today) == 10)
    }

    @Test("if the file would be too large, the records with the earliest days are omitted")
    func tooMany() throws {
        let records = Dictionary(
            uniqueKeysWithValues: (0..<4_000).map { number in
                let name = "vendor-\(number)"
                return (name, UsageRecord(day: today + Int64(number)))
            }
        )
        let octets = UsageFile.octets(records)
        #expect(octets.count <= SharedFile.largest)
        let kept = try #require(UsageFile.records(octets))
        #expect(kept.count > 1_000)
        #expect(kept["vendor-3999"] != nil && kept["vendor-0"] == nil)
    }
}
