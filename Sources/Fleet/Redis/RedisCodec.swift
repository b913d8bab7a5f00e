// SPDX-License-Identifier: Apache-2.0
internal import CRedis

/// Codec of the Redis protocol, based on libhiredis; ``ReplyGuard`` checks replies first.
package enum RedisCodec {
    /// Loads libhiredis; returns the error text, or nil on success.
    package static func load() -> String? {
        // SAFETY: the text is static.
        unsafe redis_load().map { unsafe String(cString: $0) }
    }

    static func command(_ arguments: [[UInt8]]) -> [UInt8] {
        let octets = arguments.flatMap(\.self)
        let lengths = arguments.map(\.count)
        var command: UnsafeMutablePointer<CChar>?
        // SAFETY: the lengths sum to the count of the octets; both arrays live during the call.
        let count = unsafe redis_format_command(&command, octets, lengths, Int32(lengths.count))
        guard count >= 0, let start = unsafe command else {
            preconditionFailure("a command has too many arguments, or there is no memory")
        }
        defer { unsafe redis_free_command(start) }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    static func command(_ words: any RedisWord...) -> [UInt8] { command(words.map(\.redisOctets)) }
}

/// Argument of a command: text or octets.
protocol RedisWord {
    var redisOctets: [UInt8] { get }
}

extension String: RedisWord {
    var redisOctets: [UInt8] { Array(utf8) }
}

extension [UInt8]: RedisWord {
    var redisOctets: [UInt8] { self }
}

/// Parser of the replies of Redis; unusable after an invalid reply.
// SAFETY: the reader is made in `init` and freed once, in `deinit`; used by one thread at a time.
@safe
package final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private var limits = ReplyGuard()

    /// Creates a reader; `RedisCodec.load` must have succeeded.
    package init() {
        guard let made = unsafe redis_reader_create() else { preconditionFailure("no memory") }
        unsafe reader = made
    }

    deinit { unsafe redis_reader_free(reader) }

    func read(_ octets: [UInt8]) throws(EngineError) -> [RedisReply] {
        let octets = try limits.check(octets)
        // SAFETY: the reader copies the octets.
        guard unsafe redis_reader_feed(reader, octets, octets.count) != 0 else {
            throw .unexpected("no memory for a reply")
        }
        var replies: [RedisReply] = []
        while true {
            var taken: UnsafeMutablePointer<redisReply>?
            guard unsafe redis_reader_reply(reader, &taken) != 0 else {
                throw .unexpected("the reply is not in the Redis protocol")
            }
            guard let reply = unsafe taken else { return replies }
            defer { unsafe redis_free_reply(reply) }
            replies.append(unsafe RedisReply(reply))
        }
    }

    /// Returns the number of complete replies, for fuzzing; nil if the input is invalid.
    package func count(_ octets: [UInt8]) -> Int? { (try? read(octets))?.count }
}

extension RedisReply {
    // SAFETY: hiredis sets the fields for the type of the reply; the caller frees the reply later.
    fileprivate init(_ reply: UnsafeMutablePointer<redisReply>) {
        let count = unsafe reply.pointee.len
        func octets() -> [UInt8] {
            // SAFETY: hiredis sets text and length together.
            unsafe [UInt8](UnsafeRawBufferPointer(start: reply.pointee.str, count: Int(count)))
        }
        switch unsafe reply.pointee.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .text(octets())
        case REDIS_REPLY_INTEGER: self = unsafe .integer(reply.pointee.integer)
        case REDIS_REPLY_ERROR: self = .error(String(decoding: octets(), as: UTF8.self))
        case REDIS_REPLY_ARRAY:
            let elements = unsafe UnsafeBufferPointer(
                start: reply.pointee.element,
                count: Int(reply.pointee.elements)
            )
            self = unsafe .list(
                elements.map { element in
                    unsafe element.map { unsafe RedisReply($0) } ?? .none
                }
            )
        default: self = .none
        }
    }
}
