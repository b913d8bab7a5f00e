// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Use of clocks in the sources")
struct ClockTests {
    private static let readings = [
        #"\b(?:Continuous|Suspending|Dispatch)(?:Clock|Time)(?:\(\))?\.now\b"#,
        #"\bclock_gettime\b"#, #"\bgettimeofday\b"#, #"\btime\((?:nil|NULL|&)"#,
        #"\bDate(?:\(\)|\.now\b)"#,
    ]

    private static func places(in files: [SourceFile]) throws -> [(path: String, code: String)] {
        try files.filter { ["swift", "c", "h"].contains($0.suffix) }.flatMap { file in
            try readings.flatMap { try Code(file.text).text.matches(of: $0) }
                .map { (file.path, $0[0]) }
        }
    }

    private static let programs: Set = ["httpdnsctl", "httpdns-emulator"]

    @Test("only MonotonicClock.swift in Net reads a clock of the system")
    func onePlace() throws {
        let files = Repository.files.filter {
            $0.path.hasPrefix("Sources/") && !Self.programs.contains($0.room)
        }
        let paths = Set(try Self.places(in: files).map(\.path))
        let clock = try #require(paths.first { $0.hasSuffix("/MonotonicClock.swift") })
        #expect(clock.hasPrefix("Sources/Net/"))
        #expect(paths == [clock])
    }

    /// `Net` and `Daemon` use the clock of the system and are not checked.
    @Test("modules with an injected clock use no other clock", arguments: ["HTTPDNS", "Resolver"])
    func givenTheirClock(_ room: String) throws {
        let files = Repository.sources.filter { $0.room == room }
        #expect(!files.isEmpty)
        for file in files {
            let calls = try Code(file.text).text.matches(of: #"\bClock\b"#)
            #expect(calls.isEmpty, "\(file.path)")
        }
    }

    @Test(
        "expressions that read a clock are recognized",
        arguments: [
            "ContinuousClock.now", "let now = ContinuousClock().now", "SuspendingClock.now",
            "DispatchTime.now()", "clock_gettime(CLOCK_REALTIME, &time)", "time(nil)", "Date()",
        ]
    )
    func recognised(_ code: String) throws {
        let file = SourceFile(path: "Sources/Room/File.swift", text: code)
        #expect(try Self.places(in: [file]).count == 1)
    }
}
