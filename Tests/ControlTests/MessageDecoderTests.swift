// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Control

/// Xorshift generator: its numbers depend only on the seed.
struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

@Suite("Decoding of messages from a stream")
struct MessageDecoderTests {
    func messages(of stream: [UInt8], inPiecesOf size: Int, limit: Int) throws -> [[UInt8]] {
        var decoder = MessageDecoder(maximumOctets: limit)
        var result: [[UInt8]] = []
        var rest = stream[...]
        while true {
            while let message = try decoder.next() { result.append(message) }
            if rest.isEmpty { return result }
            let piece = rest.prefix(min(size, decoder.room))
            decoder.append(piece)
            rest = rest.dropFirst(piece.count)
        }
    }

    @Test("the decoded messages do not depend on the division of the stream into reads")
    func splits() throws {
        let expected: [[UInt8]] = [Array("{}".utf8), [], Array("{\"method\":\"a.b\"}".utf8), [7]]
        let stream = Array(expected.map { $0 + [0] }.joined())
        for size in 1...stream.count + 1 {
            #expect(try messages(of: stream, inPiecesOf: size, limit: 64) == expected)
        }
        for split in 0...stream.count {
            var decoder = MessageDecoder(maximumOctets: 64)
            decoder.append(stream[..<split])
            var result: [[UInt8]] = []
            while let message = try decoder.next() { result.append(message) }
            decoder.append(stream[split...])
            while let message = try decoder.next() { result.append(message) }
            #expect(result == expected)
            #expect(!decoder.isInsideMessage)
        }
    }

    @Test("the decoder accepts a message of the maximum length")
    func limit() throws {
        let longest = [UInt8](repeating: 0x20, count: 10)
        #expect(try messages(of: longest + [0], inPiecesOf: 3, limit: 10) == [longest])
        #expect(throws: ProtocolError.tooLong(limit: 10)) {
            try messages(of: longest + [0x20, 0], inPiecesOf: 3, limit: 10)
        }
    }

    @Test("the decoder buffers an endless message only up to the limit")
    func endless() throws {
        var decoder = MessageDecoder(maximumOctets: 1000)
        var taken = 0
        while decoder.room > 0 {
            #expect(try decoder.next() == nil)
            let piece = [UInt8](repeating: 0x78, count: min(64, decoder.room))
            decoder.append(piece)
            taken += piece.count
        }
        #expect(taken == 1001)
        #expect(throws: ProtocolError.tooLong(limit: 1000)) { try decoder.next() }
    }

    @Test("the decoder returns the messages before an oversized message")
    func beforeTheFault() throws {
        var decoder = MessageDecoder(maximumOctets: 8)
        decoder.append([1, 0, 2, 0])
        decoder.append([3, 3, 3, 3, 3])
        #expect(try decoder.next() == [1])
        #expect(try decoder.next() == [2])
        #expect(try decoder.next() == nil)
        decoder.append([UInt8](repeating: 3, count: decoder.room))
        #expect(throws: ProtocolError.self) { try decoder.next() }
    }

    @Test("the decoder ends a message at each NUL, for reads of any size")
    func oracle() throws {
        var dice = Dice(state: 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<300 {
            let stream = (0..<Int.random(in: 0...200, using: &dice)).map { _ in
                UInt8.random(in: 0...5, using: &dice)
            }
            let parts = stream.split(separator: 0, omittingEmptySubsequences: false)
            let size = Int.random(in: 1...40, using: &dice)
            let result = try messages(of: stream, inPiecesOf: size, limit: 256)
            #expect(result == parts.dropLast().map(Array.init))
        }
    }
}
