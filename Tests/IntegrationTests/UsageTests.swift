// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Counts of billed units", .needs(.dig, .curl), .hangLimit)
struct UsageTests {
    private static let zone = """
        www.example.com 300 A 192.0.2.1
        *.example.com 600 A 192.0.2.2
        *.example.com 600 AAAA 2001:db8::2

        """

    private func daemon(
        _ emulator: TestEmulator,
        _ scratch: Scratch,
        state: String,
        _ more: String...
    ) throws -> TestDaemon {
        let text = try AlibabaText(
            servers: [emulator.address],
            in: scratch,
            extra: (["scheme: http", "timeout: 500ms"] + more).joined(separator: "\n    ")
        )
        return try TestDaemon(text.text, environment: ["STATE_DIRECTORY": state])
    }

    @Test("if the daemon cannot store its counts, it does not call a vendor with a budget")
    func unopened() throws {
        let (emulator, scratch) = (try TestEmulator(zone: Self.zone), try Scratch())
        let place = "/dev/null/httpdnsd"
        let daemon = try daemon(emulator, scratch, state: place, "budget: {units-per-day: 100}")
        for _ in 0..<3 { _ = try daemon.dig("www.example.com", "A") }
        #expect(try emulator.lookups() == 0)
        let status = try daemon.control("status")
        #expect(status.status == 4)
        let problem = "usage unknown: cannot create \(place): Not a directory; set $STATE_DIRECTORY"
        #expect(
            status.output.contains("not called, because the budget cannot be checked: " + problem),
            "\(status)"
        )
        let end = try daemon.program.stop()
        #expect(end.errors.components(separatedBy: problem).count == 2, "\(end.errors)")

        let free = try self.daemon(emulator, scratch, state: place)
        _ = try free.program.line(with: "usage not stored: cannot create \(place)")
        #expect(try free.dig("www.example.com", "A").data("A") == ["192.0.2.1"])
        let report = try free.control("status")
        #expect(report.status == 4)
        #expect(report.output.contains("snapshot of the cache: "), "\(report)")
        #expect(try free.control("bill").output.contains("usage not stored"))
        try free.stop()
    }

    @Test("a truncated state file does not set the spent budget to 0; `bill --reset` does")
    func truncated() throws {
        let (emulator, scratch) = (try TestEmulator(zone: Self.zone), try Scratch())
        func start() throws -> TestDaemon {
            try daemon(emulator, scratch, state: scratch.path, "budget: {units-per-day: 1}")
        }
        let first = try start()
        _ = try first.dig("www.example.com", "A")
        try first.stop()
        #expect(try emulator.lookups() == 1)
        try Data().write(to: URL(filePath: scratch.file("usage.state")))
        let second = try start()
        _ = try second.dig("www.example.com", "A")
        #expect(try emulator.lookups() == 1)
        let status = try second.control("status").output
        #expect(
            status.contains(
                "damaged state file \(scratch.file("usage.state")); "
                    + "run `httpdnsctl bill --reset alibaba`"
            ),
            "\(status)"
        )
        #expect(try second.control("bill", "--reset", "alibaba").status == 0)
        _ = try second.control("flush", "--all")
        #expect(try second.dig("www.example.com", "A").data("A") == ["192.0.2.1"])
        try second.stop()
    }

    @Test("even after kill -9, two daemons count all billed units and obey the budget")
    func bounds() throws {
        let (emulator, scratch) = (try TestEmulator(zone: Self.zone), try Scratch())
        let limit = 501
        func start() throws -> TestDaemon {
            try daemon(emulator, scratch, state: scratch.path, "budget: {units-per-day: \(limit)}")
        }
        var daemons = [try start(), try start()]
        var number = 0
        func ask(_ count: Int) throws {
            let sockets = try daemons.map { try Socket(.datagram, to: $0.port) }
            var expected = [0, 0]
            for _ in 0..<count {
                number += 1
                for type in [[1], [28], [1, 28]][number % 3] as [UInt16] {
                    try sockets[number % 2].send(
                        RawMessage.query("n\(number).example.com", type: type)
                    )
                    expected[number % 2] += 1
                }
            }
            for (socket, count) in zip(sockets, expected) {
                for _ in 0..<count { _ = try socket.receive() }
            }
        }
        /// Repeats the control call while the counts are unknown, because a killed daemon may still
        /// lock the file.
        func units(_ index: Int, _ key: String) throws -> Int {
            let end = ContinuousClock.now + .seconds(5)
            while true {
                let vendor = try #require(try daemons[index].stats()["vendors"].array.first)
                if let units = vendor["units", key].int { return units }
                try #require(ContinuousClock.now < end)
            }
        }
        func billed() throws -> Int { try #require(try JSON(emulator.admin("bill"))["units"].int) }
        func check() throws {
            let atLeast = try units(0, "at-least") + units(1, "at-least")
            let bill = try billed()
            var today = try units(0, "today")
            // A daemon reads the counts of the other daemon at most once a second.
            let end = ContinuousClock.now + .seconds(5)
            while today < bill, ContinuousClock.now < end { today = try units(0, "today") }
            let counts = [atLeast, bill, today, limit]
            #expect(counts == counts.sorted(), "at least, bill, today, limit: \(counts)")
        }
        try ask(60)
        try check()
        #expect(try units(0, "at-most") + units(1, "at-most") == billed())

        try emulator.misbehave("silent:every:7", "status=503:every:5", "reset:every:11")
        try ask(60)
        try check()
        let before = try units(1, "today")
        daemons[0].program.send(SIGKILL)
        _ = try daemons[0].program.end()
        daemons[0] = try start()
        #expect(try units(0, "today") >= before)
        try check()
        try ask(60)
        try check()

        try emulator.misbehave()
        try ask(320)
        try check()
        #expect(number == 500)
        for daemon in daemons {
            let vendor = try #require(try daemon.stats()["vendors"].array.first)
            #expect(try #require(vendor["budget", "beyond"].int) > 0)
        }
        // The vendor possibly did not bill requests without a reply, so the bill can be lower.
        #expect(try billed() > limit / 2)
        for daemon in daemons { try daemon.stop() }
    }
}
