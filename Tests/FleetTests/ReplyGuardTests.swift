// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Fleet

@Suite("Replies of the Redis server")
struct ReplyGuardTests {
    private static func read(_ text: String, inParts size: Int = .max) throws -> [RedisReply] {
        let reader = ReplyReader()
        let octets = Array(text.utf8)
        var replies: [RedisReply] = []
        var start = 0
        while start < octets.count {
            let end = min(octets.count, start + min(size, octets.count))
            replies += try reader.read(Array(octets[start..<end]))
            start = end
        }
        return replies
    }

    @Test(
        "replies of all RESP2 types are parsed, however the stream is divided into reads",
        arguments: [1, 2, 7, .max]
    )
    func types(_ size: Int) throws {
        #expect(RedisCodec.load() == nil)
        let text =
            "+OK\r\n:-7\r\n-ERR no\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
            + "*3\r\n$1\r\nx\r\n*2\r\n:1\r\n$-1\r\n+y\r\n"
        #expect(
            try Self.read(text, inParts: size) == [
                .text(Array("OK".utf8)), .integer(-7), .error("ERR no"), .text(Array("a\r\n".utf8)),
                .none, .none, .list([]),
                .list([
                    .text(Array("x".utf8)), .list([.integer(1), .none]), .text(Array("y".utf8)),
                ]),
            ]
        )
    }

    @Test(
        "a reply beyond the limits is rejected before its content is read",
        arguments: [
            "$1048577\r\n", "$99999999999\r\n", "*257\r\n", "*2147483647\r\n", "*200\r\n*100\r\n",
            "$-2\r\n", "$\r\n", "$1 \r\n", "*-\r\n", "$+1\r\n", "%1\r\n", "x",
            "+" + String(repeating: "x", count: 1_100), "+a\n$9000000\r\n", "+a\rb\r\n", "$3\n",
            "$3\r\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        ]
    )
    func limits(_ text: String) {
        #expect(RedisCodec.load() == nil)
        #expect(throws: EngineError.self) { try Self.read(text) }
    }

    @Test("a value of 4 KiB is read, and the limits apply to each reply separately")
    func values() throws {
        #expect(RedisCodec.load() == nil)
        let value = "$4096\r\n" + String(repeating: "v", count: 4_096) + "\r\n"
        let list = "*100\r\n" + String(repeating: value, count: 100)
        for reply in try Self.read(list + list) { #expect(reply.elements.count == 100) }
    }

    @Test("a string that is too long is skipped, and reading continues", arguments: [1, 100, .max])
    func skipped(_ size: Int) throws {
        #expect(RedisCodec.load() == nil)
        let message =
            "*3\r\n$1\r\na\r\n$5000\r\n" + String(repeating: "*9", count: 2_500)
            + "\r\n$1\r\nb\r\n:1\r\n"
        #expect(
            try Self.read(message, inParts: size) == [
                .list([.text(Array("a".utf8)), .none, .text(Array("b".utf8))]), .integer(1),
            ]
        )
    }

    @Test("a command is encoded with the length of each argument")
    func command() {
        #expect(RedisCodec.load() == nil)
        let command = RedisCodec.command([Array("SET".utf8), [0, 13, 10], []])
        #expect(
            command == Array("*3\r\n$3\r\nSET\r\n$3\r\n".utf8) + [0, 13, 10]
                + Array("\r\n$0\r\n\r\n".utf8)
        )
    }
}
