// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks
import Logging
import Net
import Testing

@testable import Configuration
@testable import DaemonLog

private final class Harness: Sendable {
    private let lines = Lock<[String]>([])
    private let time = Lock(Instant(nanoseconds: 1 << 50))
    private let made = Lock<LogSink?>(nil)

    init(_ change: (inout LogSettings) -> Void = { _ in }) {
        var settings = LogSettings()
        change(&settings)
        let harness = LogSink(
            settings,
            to: LogDestination { [weak self] entry, format in
                let line = format == .json ? entry.json : "\(entry.level): \(entry.words)"
                self?.lines.withLock { $0.append(line) }
                return true
            },
            now: { [weak self] in self?.time.withLock { $0 } ?? Clock.now }
        )
        made.withLock { $0 = harness }
    }

    var log: LogSink { made.withLock { $0 } ?? LogSink(LogSettings()) }
    var logger: Logger { log.logger }

    func logged() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    func pass(_ duration: Duration) {
        let now = time.withLock { time in
            time += duration
            return time
        }
        log.logSummaries(now)
    }
}

@Suite("Log lines (CWE-117)")
struct LogEntryTests {
    @Test("a log level that the operator sets survives reloads until the operator resets it")
    func operatorsLevel() {
        let harness = Harness()
        harness.logger.debug("hidden")
        harness.log.setLevel(.debug)
        harness.logger.debug("shown")
        harness.log.use(LogSettings())
        harness.logger.debug("shown after a reload")
        #expect(harness.log.levels == (now: .debug, settings: .info))
        harness.log.setLevel(nil)
        harness.logger.debug("hidden again")
        #expect(harness.logged() == ["debug: shown", "debug: shown after a reload"])
        #expect(harness.log.levels == (now: .info, settings: .info))
    }

    @Test(arguments: [
        ("nothing odd", "name=www.example.com.", "name=www.example.com."),
        ("other alphabets", "für 例え 😀", "für 例え 😀"),
        ("a line end", "a\nb", "a\\u{a}b"),
        ("a carriage return and a line feed", "a\r\nb", "a\\u{d}\\u{a}b"),
        ("a terminal's escape", "\u{1B}[2Jx", "\\u{1b}[2Jx"),
        ("NUL and DEL", "\u{0}\u{7F}", "\\u{0}\\u{7f}"),
        ("the other control characters", "\u{85}\u{9B}31m", "\\u{85}\\u{9b}31m"),
        ("another direction", "\u{202E}moc.elpmaxe", "\\u{202e}moc.elpmaxe"),
        ("Unicode line separators", "a\u{2028}b\u{2029}c", "a\\u{2028}b\\u{2029}c"),
        ("nothing", "", ""),
    ])
    func `input cannot end a log line or move the cursor`(
        _ label: String,
        _ text: String,
        _ expected: String
    ) {
        #expect(LogEntry.oneLine(text) == expected)
        let entry = LogEntry(level: .info, message: text, fields: [.init(name: "x", value: text)])
        for form in [entry.text, entry.json, entry.prefixed] {
            #expect(
                form.unicodeScalars.allSatisfy { !$0.properties.isPatternWhitespace || $0 == " " }
            )
        }
    }

    private static let hostile = LogEntry(
        level: .warning,
        message: "said \"\\no\"\u{1B}]0;x\u{7}",
        fields: [
            .init(name: "server", value: "a level=error"),
            .init(name: "took-us", value: "7"),
            .init(name: "vendor", value: "\"\n\u{202E}"),
        ],
        time: "now"
    )

    @Test("the value of a field is one word or is quoted, so that it cannot imitate another field")
    func words() {
        #expect(
            Self.hostile.text == #"now warning: said "\no"\u{1b}]0;x\u{7} "#
                + #"server="a level=error" took-us=7 vendor="\"\u{a}\u{202e}""#
        )
    }

    @Test("a JSON line has all fields and no control characters")
    func json() throws {
        let json = Self.hostile.json
        #expect(!json.contains("\u{1B}") && !json.contains("\u{202E}") && !json.contains("\n"))
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String]
        #expect(
            object == [
                "time": "now", "level": "warning", "message": Self.hostile.message,
                "server": "a level=error", "took-us": "7", "vendor": "\"\n\u{202E}",
            ]
        )
    }

    @Test("a journal entry has the priority and the fields of the log entry")
    func journal() {
        #expect(
            Self.hostile.journalFields == [
                "MESSAGE=\(Self.hostile.words)", "PRIORITY=4", "SYSLOG_IDENTIFIER=httpdnsd",
                "HTTPDNSD_SERVER=a level=error", "HTTPDNSD_TOOK_US=7",
                "HTTPDNSD_VENDOR=\"\n\u{202E}",
            ]
        )
        let levels = Logger.Level.allCases.map { level in
            LogEntry(level: level, message: "").prefixed.prefix(3)
        }
        #expect(levels == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
    }

    @Test("the time of a log line is local, with the offset from UTC")
    func time() throws {
        let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d/
        #expect(try form.wholeMatch(in: LogEntry.now) != nil)
    }
}

@Suite("Levels and rate limits of log lines")
struct LogSinkTests {
    @Test("new settings change the log level and the format of the lines")
    func settings() {
        let harness = Harness { $0.level = .notice }
        harness.logger.info("no")
        harness.logger.notice("yes", metadata: ["b": "2", "a": "1"])
        #expect(harness.logged() == ["notice: yes a=1 b=2"])
        var settings = LogSettings()
        settings.level = .debug
        settings.format = .json
        harness.log.use(settings)
        harness.logger.debug("now")
        #expect(harness.logged().first?.hasSuffix(#""level":"debug","message":"now"}"#) == true)
        var other = harness.logger
        other.logLevel = .error
        other.warning("no")
        #expect(harness.logged() == [])
        settings.level = .critical
        harness.log.use(settings)
        harness.logger.error("no")
        #expect(harness.logged() == [])
    }

    private func fail(_ harness: Harness, _ server: String, level: Logger.Level = .warning) {
        harness.logger.log(
            level: level,
            "it failed, asking another",
            metadata: ["server": "\(server)"]
        )
    }

    @Test("a repeated failure is logged once a minute, with the number of suppressed lines")
    func once() {
        let harness = Harness()
        for _ in 0..<38 { fail(harness, "a") }
        fail(harness, "b")
        #expect(
            harness.logged() == [
                "warning: it failed, asking another server=a",
                "warning: it failed, asking another server=b",
            ]
        )
        harness.pass(.seconds(59))
        #expect(harness.logged() == [])
        harness.pass(.seconds(1))
        #expect(
            harness.logged() == [
                "warning: it failed, asking another (and 37 similar messages in 60 s) server=a"
            ]
        )
        fail(harness, "a")
        #expect(harness.logged() == ["warning: it failed, asking another server=a"])
        harness.pass(.seconds(600))
        #expect(harness.logged() == [])
    }

    @Test("lines without fields, and lines below level notice, have no rate limit")
    func unlimited() {
        let harness = Harness()
        for _ in 0..<3 { fail(harness, "a", level: .info) }
        for _ in 0..<3 { harness.logger.warning("odd") }
        #expect(harness.logged().count == 6)
    }

    @Test("repeated lines of level notice, such as recoveries, are limited like failures")
    func recoveries() {
        let harness = Harness()
        for _ in 0..<1_200 { fail(harness, "a", level: .notice) }
        #expect(harness.logged().count == 1)
        harness.pass(.seconds(60))
        #expect(harness.logged().count == 1)
    }

    @Test("256 kinds of failures have separate limits, and all further kinds share one limit")
    func manyKinds() {
        let harness = Harness()
        for number in 0..<1000 { fail(harness, "\(number)") }
        #expect(harness.logged().count == LogLimiter.mostKinds + 1)
        harness.pass(.seconds(60))
        #expect(harness.logged().count == 1)
        fail(harness, "1000")
        #expect(harness.logged().count == 1)
    }

    @Test("if the log reader is slow, the dropped lines are counted")
    func dropped() {
        let (reader, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let destination = LogDestination { _, _ in
            reader.signal()
            release.wait()
            return true
        }
        let log = LogSink(LogSettings(), to: destination, now: { Clock.now })
        log.startWriter()
        log.logger.error("first")
        reader.wait()
        // The writer thread holds the first line, so the queue is empty.
        for _ in 0..<LogSink.entryLimit { log.logger.error("queued") }
        #expect(log.droppedLines == 0)
        for _ in 0..<3 { log.logger.error("dropped") }
        #expect(log.droppedLines == 3)
        for _ in 0..<LogSink.entryLimit + 2 { release.signal() }
        log.flush()
    }

    @Test("lines that cannot be written are counted", arguments: [true, false])
    func unwritten(hasWriter: Bool) throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let destination = LogDestination { entry, _ in
            LogDestination.write(entry.text, to: full)
        }
        let log = LogSink(LogSettings(), to: destination, now: { Clock.now })
        if hasWriter { log.startWriter() }
        for _ in 0..<3 { log.logger.error("lost") }
        log.flush()
        #expect(log.droppedLines == 3)
    }

    @Test("after a critical line, the log also prints earlier lines that the log level suppressed")
    func fatal() {
        let harness = Harness()
        harness.logger.debug("before")
        harness.logger.notice("seen")
        harness.logger.log(level: .debug, "query", source: LogSink.queries)
        harness.logger.critical("the end")
        let logged = harness.logged()
        #expect(
            logged.prefix(3) == [
                "notice: seen", "critical: the end", "notice: log: 1 lines from memory follow",
            ]
        )
        #expect(logged.count == 4)
        #expect(logged.last?.hasPrefix("info: | ") == true)
        #expect(logged.last?.hasSuffix(" debug: before") == true)
    }

    @Test("the flight recorder also stores the lines that the level or a limit suppresses")
    func dump() {
        let harness = Harness()
        harness.logger.debug("before")
        for _ in 0..<2 { fail(harness, "a") }
        _ = harness.logged()
        harness.log.dump()
        let logged = harness.logged()
        #expect(logged.first == "notice: log: 3 lines from memory follow")
        #expect(logged.dropFirst().map { $0.hasSuffix("server=a") } == [false, true, true])
    }
}
