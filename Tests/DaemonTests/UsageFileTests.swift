// SPDX-License-Identifier: Apache-2.0
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

    private func file() throws -> UsageFile {
        UsageFile(directory: try #require(folder).path)
    }

    private var path: String { (folder?.path ?? "") + "/usage.state" }

    private func add(_ units: UInt64, of vendor: String, to file: UsageFile) -> UsageRecord? {
        file.update(vendor, today: today) {
            $0.add(UsageAmount(calls: 1, units: units))
            return true
        }
    }

    @Test("the counts outlive the object; two objects share them")
    func shared() throws {
        let (first, second) = (try file(), try file())
        #expect(add(5, of: "a", to: first)?.unitsToday == 5)
        #expect(add(7, of: "a", to: second)?.unitsToday == 12)
        #expect(add(1, of: "b", to: first)?.unitsThisMonth == 1)
        let third = try file()
        #expect(third.update("a", today: today) { _ in false }?.callsToday == 2)
        #expect(third.problem == nil)
    }

    @Test("a file with a changed, missing or additional octet is damaged")
    func damage() throws {
        let records = ["a": UsageRecord(day: today, calls: 1, units: 20, unitsThisMonth: 300)]
        let octets = UsageFile.octets(records, today: today)
        #expect(UsageFile.records(octets) == records)
        for index in octets.indices {
            var other = octets
            other[index] ^= 1
            #expect(UsageFile.records(other) == nil, "octet \(index)")
            #expect(UsageFile.records(octets[..<index]) == nil || index == 0, "\(index) octets")
        }
        #expect(UsageFile.records(octets + octets) == nil)
    }

    @Test("a damaged file has no counts until it is reset")
    func reset() throws {
        let file = try file()
        _ = add(5, of: "a", to: file)
        try Data("rubbish".utf8).write(to: URL(filePath: path))
        #expect(add(5, of: "a", to: file) == nil)
        #expect(file.problem == "usage unknown: damaged state file \(path)")
        try file.reset("a", today: today)
        #expect(file.problem == nil)
        #expect(add(5, of: "a", to: file)?.unitsToday == 5)
        try FileManager.default.removeItem(atPath: path)
        #expect(add(5, of: "a", to: file)?.unitsToday == 5)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("without a usable directory the counts are in memory")
    func unavailable() throws {
        let file = UsageFile(directory: "/dev/null/httpdnsd")
        #expect(add(5, of: "a", to: file)?.unitsToday == 5)
        #expect(add(5, of: "a", to: file)?.unitsToday == 10)
        #expect(file.problem?.hasPrefix("usage is not stored: cannot create") == true)
    }

    @Test("vendors that were not used for two months are removed")
    func old() {
        let records = ["a": UsageRecord(day: today - 62), "b": UsageRecord(day: today - 61)]
        let kept = UsageFile.records(UsageFile.octets(records, today: today))
        #expect(kept?.keys.sorted() == ["b"])
    }
}
