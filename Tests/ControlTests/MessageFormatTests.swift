// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import TestWorld
import Testing

@Suite("JSON format of messages")
struct MessageFormatTests {
    static let replies: [any Codable & Sendable] = [
        Samples.status, Samples.stats, Samples.lookup, Samples.resolved, Samples.dump,
        Samples.explained, Samples.foretold, Samples.watch, Samples.slowest,
        Samples.counts(.names), Samples.top, Samples.bill, Samples.proved, Samples.reloaded,
        Samples.rejected, Samples.settings,
        Samples.routes, Samples.paused, Samples.resumed, Samples.version,
        FlushReply(removed: 1), LogLevelReply(level: "info", settingsLevel: "info"),
        PortalReply(active: true, seconds: 180, servers: ["192.0.2.1"]),
        PauseReply(upstream: "isp", changed: true, isPaused: true),
    ]

    private static func decoded<Value: Codable>(_ value: Value, _ octets: [UInt8]) throws -> Value {
        try JSONText.decode(Value.self, from: octets)
    }

    @Test("all messages have the names and values of `messages.jsonl`")
    func golden() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "messages.jsonl")
        let expected = try String(contentsOf: file, encoding: .utf8)
        var lines = ""
        for message in Self.replies + [StatsRequest(reset: true, everySeconds: 5)] {
            let octets = try JSONText.encode(message)
            lines += String(decoding: octets, as: UTF8.self) + "\n"
            let read = try Self.decoded(message, octets)
            #expect(try JSONText.encode(read) == octets)
        }
        #expect(lines == expected)
    }
}
