// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Glibc
import Locks
import Logging
import Net
import TestWorld
import Testing

@testable import Configuration
@testable import Daemon
@testable import Resolver

@Suite("Hosts files", .timeLimit(.minutes(15)))
struct HostsFilesTests {
    private static func addresses(of name: String, in text: String) throws -> [String]? {
        var table = HostsTable()
        _ = table.add(hostsFile: [UInt8](text.utf8))
        return table.addresses(of: try Name(name))?.map(\.description)
    }

    @Test(
        arguments: [
            ("192.0.2.9 a.lan", ["192.0.2.9"]), ("\t192.0.2.9\t \ta.lan\r", ["192.0.2.9"]),
            ("192.0.2.9 b.lan a.lan c.lan # the third", ["192.0.2.9"]),
            ("\u{FEFF}192.0.2.9 a.lan", ["192.0.2.9"]), ("192.0.2.9 A.LAN.", ["192.0.2.9"]),
            ("2001:DB8::9 a.lan", ["2001:db8::9"]),
            ("192.0.2.9 a.lan#comment", ["192.0.2.9"]),
            ("192.0.2.9 ä.lan a.lan", ["192.0.2.9"]),
            ("192.0.2.9 a.lan\n192.0.2.9 a.lan\n192.0.2.8 a.lan", ["192.0.2.9", "192.0.2.8"]),
            ("nonsense\n\u{0}\n192.0.2.9 a.lan", ["192.0.2.9"]),
            ("#192.0.2.9 a.lan", nil), ("192.0.2.9 b.lan # a.lan", nil), ("192.0.2.9", nil),
            ("192.0.2.300 a.lan", nil), ("fe80::1%eth0 a.lan", nil), ("a.lan 192.0.2.9", nil),
            ("192.0.2.9 a..lan", nil), ("", nil),
        ] as [(String, [String]?)]
    )
    func `a line has an address and names`(_ text: String, _ expected: [String]?) throws {
        #expect(try Self.addresses(of: "a.lan", in: text) == expected)
    }

    @Test
    func `invalid lines are counted, and the first invalid line is reported`() {
        var table = HostsTable()
        let faults = table.add(
            hostsFile: [UInt8](
                """
                # a comment

                192.0.2.1 good.lan
                192.0.2.300 bad.lan
                192.0.2.2
                192.0.2.3 good.example b..lan
                127.0.0.1 localhost

                """.utf8
            ) + [0xFF, 0x00, 0x0A]
        )
        #expect(faults.count == 4)
        #expect(faults.first?.line == 4)
        #expect(faults.first?.reason == "the line does not start with an IP address")
        #expect(table.count == 2)
    }

    @Test
    func `no octets crash the parser`() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "192.0.2.1", "::1", " ", "\t", "\n", "#", "a.lan", "\u{0}", "ä", "\\", "%", ".",
        ]
        for _ in 0..<500 {
            let text = (0..<40).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            var table = HostsTable()
            _ = table.add(hostsFile: Array(text.utf8.shuffled(using: &generator)))
            _ = table.add(hostsFile: Array(text.utf8))
        }
    }

    @ServiceLoop
    private final class Fixture {
        let folder: TemporaryFolder
        let log = Lines()
        private var files: HostsFiles?
        private var table = HostsTable()
        private var waiting: (isDone: (HostsTable) -> Bool, CheckedContinuation<Void, Never>)?

        init(_ change: (inout HostsSettings, TemporaryFolder) throws -> Void) throws {
            folder = try TemporaryFolder()
            var settings = HostsSettings()
            settings.files = [folder.path + "/hosts"]
            try change(&settings, folder)
            let log = log
            files = HostsFiles(settings, logger: Logger(label: "test") { _ in log })
            files?.onChange = { [weak self] table in self?.take(table) }
        }

        func start() async { await files?.start() }

        func read() async { await files?.read() }

        func stop() { files?.stop() }

        var problems: [String] { files?.problems ?? [] }

        var isEmpty: Bool { table.count == 0 }

        func addresses(of name: String) throws -> [String]? {
            table.addresses(of: try Name(name))?.map(\.description)
        }

        private func take(_ table: HostsTable) {
            self.table = table
            guard let (isDone, continuation) = waiting, isDone(table) else { return }
            waiting = nil
            continuation.resume()
        }

        func wait(for text: String, _ addresses: [String]?) async throws {
            let name = try Name(text)
            let isDone: (HostsTable) -> Bool = { table in
                table.addresses(of: name)?.map(\.description) == addresses
            }
            guard !isDone(table) else { return }
            await withCheckedContinuation { waiting = (isDone, $0) }
        }
    }

    private final class Lines: LogHandler, Sendable {
        private let lines = Lock<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .warning }
            set {}
        }
        func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
    }

    @Test
    @ServiceLoop
    func `files are read at the start and after each change`() async throws {
        let fixture = try Fixture { settings, folder in
            settings.files.append(folder.path + "/more")
            settings.records = [
                .init(
                    name: try Name("fixed.lan"),
                    addresses: ["192.0.2.1"].compactMap { IPAddress($0) }
                )
            ]
        }
        _ = try fixture.folder.write("192.0.2.2 a.lan fixed.lan\n", to: "hosts")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.2"])
        try await fixture.wait(for: "fixed.lan", ["192.0.2.1"])
        _ = try fixture.folder.write("192.0.2.3 a.lan\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.3"])
        let new = try fixture.folder.write("192.0.2.4 a.lan\n", to: "hosts.new")
        #expect(rename(new, fixture.folder.path + "/hosts") == 0)
        try await fixture.wait(for: "a.lan", ["192.0.2.4"])
        _ = try fixture.folder.write("192.0.2.5 a.lan b.lan\n", to: "more")
        try await fixture.wait(for: "a.lan", ["192.0.2.4", "192.0.2.5"])
        #expect(unlink(fixture.folder.path + "/hosts") == 0)
        try await fixture.wait(for: "a.lan", ["192.0.2.5"])
        _ = try fixture.folder.write("192.0.2.6 a.lan\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.6", "192.0.2.5"])
    }

    @Test
    @ServiceLoop
    func `a stopped reader of hosts files does not change the table`() async throws {
        let fixture = try Fixture { _, _ in }
        _ = try fixture.folder.write("192.0.2.1 a.lan\n", to: "hosts")
        fixture.stop()
        await fixture.start()
        #expect(fixture.isEmpty)
    }

    @Test
    @ServiceLoop
    func `an invalid line is reported once, and valid lines are used`() async throws {
        let fixture = try Fixture { _, _ in }
        let place = fixture.folder.path + "/hosts"
        await fixture.start()
        #expect(
            fixture.log.all == [
                "hosts: \(place) cannot be read: No such file or directory, ignoring the file"
            ]
        )
        _ = try fixture.folder.write("192.0.2.1 a.lan\nnonsense\nmore\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        let faults =
            "hosts: \(place):2: the line does not start with an IP address, ignoring 2 invalid"
            + " lines"
        #expect(fixture.log.all.last == faults)
        _ = try fixture.folder.write("192.0.2.2 a.lan\nnonsense\nmore\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.2"])
        #expect(fixture.log.all.count == 2)
        _ = try fixture.folder.write("192.0.2.3 a.lan\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.3"])
        _ = try fixture.folder.write("192.0.2.4 a.lan\nnonsense\nmore\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.4"])
        #expect(fixture.log.all.count == 3)
    }

    @Test
    @ServiceLoop
    func `of a file that is too long, the first 8 MiB are used; a directory is not read`()
        async throws
    {
        let fixture = try Fixture { settings, folder in settings.files.append(folder.path) }
        let line = [UInt8]("192.0.2.1 a.lan     \n".utf8)
        let count = HostsFiles.mostOctets / line.count
        let text = Array([[UInt8]](repeating: line, count: count).joined())
        let rest = [UInt8]("192.0.2.2 b.lan.example\n192.0.2.3 c.lan\n".utf8)
        _ = try fixture.folder.write(text + rest, to: "hosts")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        for name in ["b.lan", "b.lan.example", "c.lan"] { try await fixture.wait(for: name, nil) }
        let folder = fixture.folder.path
        let faults = [
            "\(folder)/hosts is longer than 8 MiB, ignoring the rest of the file",
            "\(folder) is a directory, not a file, ignoring the file",
        ]
        #expect(fixture.problems == faults)
        #expect(fixture.log.all == faults.map { "hosts: \($0)" })
    }

    @Test
    @ServiceLoop
    func `if the table is full, names of the largest file are ignored, which is a problem`()
        async throws
    {
        let fixture = try Fixture { settings, folder in
            settings.files = [folder.path + "/blocklist", folder.path + "/hosts"]
        }
        func block(_ count: Int) throws -> String {
            let names = (0..<count).map { " ad\($0)" }.joined()
            return try fixture.folder.write("0.0.0.0\(names)\n", to: "blocklist")
        }
        let list = try block(10)
        _ = try fixture.folder.write("192.0.2.1 a.lan b.lan\n", to: "hosts")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        #expect(fixture.problems == [])
        _ = try block(HostsTable.mostNames)
        await fixture.read()
        try await fixture.wait(for: "ad10", ["0.0.0.0"])
        #expect(try fixture.addresses(of: "a.lan") == ["192.0.2.1"])
        #expect(try fixture.addresses(of: "ad\(HostsTable.mostNames - 1)") == nil)
        let problem =
            "the table has its maximum of 200000 names, ignoring 2 entries (the first in \(list))"
        #expect(fixture.problems == [problem])
        #expect(fixture.log.all == ["hosts: \(problem)"])
        _ = try block(10)
        await fixture.read()
        try await fixture.wait(for: "ad10", nil)
        #expect(fixture.problems == [])
    }

    @Test
    @ServiceLoop
    func `the addresses of all names are limited, which is a problem`() async throws {
        let fixture = try Fixture { settings, folder in
            settings.files = [folder.path + "/blocklist", folder.path + "/hosts"]
        }
        let names = (0..<2000).map { " ad\($0)" }.joined()
        let lines = (0..<201).map { "192.0.2.\($0)\(names)\n" }.joined()
        let list = try fixture.folder.write(lines, to: "blocklist")
        _ = try fixture.folder.write("192.0.2.1 a.lan b.lan\n", to: "hosts")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        let problem =
            "the table has its maximum of 400000 addresses, ignoring 2002 entries (the first in "
            + "\(list))"
        #expect(fixture.problems == [problem])
        #expect(try fixture.addresses(of: "ad1999")?.count == 199)
    }

    @Test
    @ServiceLoop
    func `of files with more than 16 MiB in total, the smallest file is read first`() async throws {
        let fixture = try Fixture { settings, folder in
            settings.files = ["large", "larger", "small"].map { folder.path + "/\($0)" }
        }
        let line = [UInt8](("#" + String(repeating: " ", count: 1022) + "\n").utf8)
        let comment = Array([[UInt8]](repeating: line, count: 8190).joined())
        let end = [UInt8](String(repeating: "192.0.2.2 b.lan\n", count: 40).utf8)
        _ = try fixture.folder.write(comment, to: "large")
        let larger = try fixture.folder.write(
            [UInt8]("192.0.2.1 a.lan\n".utf8) + comment + end,
            to: "larger"
        )
        let small = String(repeating: "192.0.2.3 c.lan\n", count: 256)
        _ = try fixture.folder.write(small, to: "small")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        try await fixture.wait(for: "b.lan", nil)
        try await fixture.wait(for: "c.lan", ["192.0.2.3"])
        let fault =
            "\(larger) exceeds the limit of 16 MiB for all hosts files, ignoring the rest of the file"
        #expect(fixture.problems == [fault])
        #expect(fixture.log.all.last == "hosts: \(fault)")
    }

    @Test
    @ServiceLoop
    func `the names of an unreadable file stay, until the file can be read or is removed`()
        async throws
    {
        let fixture = try Fixture { settings, folder in
            settings.files.append(folder.path + "/more")
        }
        let place = fixture.folder.path + "/hosts"
        _ = try fixture.folder.write("192.0.2.1 a.lan\n192.0.2.2 b.lan\n", to: "hosts")
        await fixture.start()
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        #expect(fixture.problems == [])
        // A directory in place of the file cannot be read, not even by root.
        #expect(unlink(place) == 0 && mkdir(place, 0o755) == 0)
        _ = try fixture.folder.write("192.0.2.3 c.lan\n", to: "more")
        try await fixture.wait(for: "c.lan", ["192.0.2.3"])
        try await fixture.wait(for: "a.lan", ["192.0.2.1"])
        try await fixture.wait(for: "b.lan", ["192.0.2.2"])
        let fault = "\(place) is a directory, not a file, keeping its former names"
        #expect(fixture.problems == [fault])
        await fixture.read()
        #expect(fixture.problems == [fault])
        #expect(fixture.log.all.filter { $0 == "hosts: \(fault)" }.count == 1)
        #expect(rmdir(place) == 0)
        _ = try fixture.folder.write("192.0.2.4 a.lan\n", to: "hosts")
        try await fixture.wait(for: "a.lan", ["192.0.2.4"])
        try await fixture.wait(for: "b.lan", nil)
        #expect(fixture.problems == [])
        #expect(unlink(place) == 0)
        try await fixture.wait(for: "a.lan", nil)
        #expect(fixture.problems == [])
    }
}
