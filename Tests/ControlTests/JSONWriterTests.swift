// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestWorld
import Testing

@testable import Control

@Suite("JSONWritable writes the same JSON as Codable")
struct JSONWriterTests {
    private func coded(_ value: some Encodable) throws -> String {
        String(decoding: try JSONText.encoder.encode(value), as: UTF8.self)
    }

    private func written(_ value: some Encodable) throws -> String {
        #expect(value is any JSONWritable)
        return String(decoding: try JSONText.encode(value), as: UTF8.self)
    }

    @Test("`JSONWriter` writes dump entries as Codable does, with and without optional fields")
    func dumps() throws {
        var reply = Samples.dump
        #expect(reply.entries.contains { $0.protected == nil })
        reply.entries[0].protected = true
        reply.entries[0].synthesized = true
        reply.entries[0].fleet = "machine-2"
        reply.entries[0].hits = .max
        reply.entries[0].ageSeconds = .min
        for entries in [reply.entries, [], [reply.entries[0]]] {
            reply.entries = entries
            #expect(try written(reply) == coded(reply))
        }
    }

    @Test("`JSONWriter` writes settings, and routes with and without `pattern`, as Codable does")
    func settings() throws {
        #expect(try written(Samples.settings) == coded(Samples.settings))
        for reply in [
            Samples.routes, RoutesReply(routes: []),
            RoutesReply(routes: Samples.routes.routes, pattern: "example.com"),
        ] {
            let text = try coded(reply)
            #expect(try written(reply) == text)
            #expect(reply.routes.reduce(0) { $0 + $1.minimumOctets } <= text.utf8.count)
        }
    }

    @Test("`JSONWriter` escapes characters in strings as Codable does")
    func characters() throws {
        var entry = Samples.dump.entries[0]
        let low = (UInt32(0)..<0x100).compactMap(Unicode.Scalar.init)
        for scalar in low + ["\u{2028}", "\u{1F600}"] {
            entry.name = "a\(scalar)b"
            #expect(try written(entry) == coded(entry))
        }
    }

    @Test("the client decodes replies with and without `continues`")
    func replies() throws {
        for continues in [true, false] {
            let message = try Reply.message(results: Samples.dump, continues: continues)
            #expect(message.last == 0)
            let (results, more) = try Reply.results(
                as: DumpReply.self,
                in: Array(message.dropLast())
            )
            #expect(results == Samples.dump && more == continues)
            let reply = try Reply(message: Array(message.dropLast()))
            #expect(reply.continues == continues)
            #expect(try reply.results(as: DumpReply.self) == Samples.dump)
        }
    }

    @Test("for an error reply, the client throws the error instead of returning results")
    func errors() throws {
        let message = try Reply(MethodError.failed(reason: "no")).message()
        #expect(throws: MethodError.self) {
            try Reply.results(as: DumpReply.self, in: Array(message.dropLast()))
        }
        #expect(throws: ProtocolError.self) {
            try Reply.results(as: DumpReply.self, in: Array("{".utf8))
        }
    }
}
