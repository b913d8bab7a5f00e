// SPDX-License-Identifier: Apache-2.0
import Control
import FoundationEssentials
import Testing

@Suite("JSON that is written by hand is what the coding of its type makes")
struct JSONWriterTests {
    /// The text that Codable makes.
    private func coded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// The text that goes over the wire.
    private func written(_ value: some Encodable) throws -> String {
        #expect(value is any JSONWritable)
        return String(decoding: try JSONText.encode(value), as: UTF8.self)
    }

    @Test("dumps, with all that an entry may have, and without what it may lack")
    func dumps() throws {
        var reply = Samples.dump
        #expect(reply.entries.contains { $0.protected == nil })
        reply.entries[0].protected = true
        reply.entries[0].hits = .max
        reply.entries[0].ageSeconds = .min
        for entries in [reply.entries, [], [reply.entries[0]]] {
            reply.entries = entries
            #expect(try written(reply) == coded(reply))
        }
    }

    @Test("every ASCII character, and others, in a string")
    func characters() throws {
        var entry = Samples.dump.entries[0]
        let low = (UInt32(0)..<0x100).compactMap(Unicode.Scalar.init)
        for scalar in low + ["\u{2028}", "\u{1F600}"] {
            entry.name = "a\(scalar)b"
            #expect(try written(entry) == coded(entry))
        }
    }

    @Test("a reply that goes on, and the last one, are read as what they were")
    func replies() throws {
        for continues in [true, false] {
            let message = try Reply.message(results: Samples.dump, continues: continues)
            #expect(message.last == 0)
            let (results, more) = try Reply.results(
                as: DumpReply.self,
                in: Array(message.dropLast())
            )
            #expect(results == Samples.dump && more == continues)
            // As others see it, who know nothing of the type.
            let reply = try Reply(message: Array(message.dropLast()))
            #expect(reply.continues == continues)
            #expect(try reply.results(as: DumpReply.self) == Samples.dump)
        }
    }

    @Test("an error in the place of a reply is the error")
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
