// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// What was read of a connection: whole messages that are taken, and behind them what is not.
struct StreamInput {
    /// Octets that a connection may leave for later: less than a message and one read.
    private static let mostRest = 2 + 65_535 + TCPLimits.readOctets

    private(set) var octets = [UInt8](repeating: 0, count: mostRest + TCPLimits.readOctets)

    /// Where the messages are that were taken last; `count` of them.
    private(set) var messages = InlineArray<32, Range<Int>>(repeating: 0..<0)
    private(set) var count = 0

    /// What was read and not taken is from `start` to `end`.
    private var start = 0
    private var end = 0

    /// Begins anew, with what was left over of a connection.
    mutating func begin(with rest: [UInt8]) {
        count = 0
        place(rest)
    }

    /// Ends with what was read and not taken.
    mutating func takeRest() -> [UInt8] {
        defer { start = end }
        return start == end ? [] : Array(octets[start..<end])
    }

    private mutating func place(_ rest: [UInt8]) {
        if !rest.isEmpty { octets.withMutableRawSpan { $0.copy(rest.rawSpan, to: 0) } }
        (start, end) = (0, rest.count)
    }

    /// Reads behind what there is; see `StreamConnection.attemptRead`.
    @ServiceLoop
    mutating func read(from stream: StreamConnection) throws(SocketError) -> Int? {
        if start > 0 {
            // Less than a message is left, and mostly nothing.
            place(takeRest())
        }
        let count = try stream.attemptRead(into: &octets, from: end, upTo: TCPLimits.readOctets)
        end += count ?? 0
        return count
    }

    /// Takes the next whole messages, each of which has its length before it (RFC 7766 §8).
    mutating func take() {
        count = 0
        while count < PlainQueries.capacity, end - start >= 2 {
            let length = Int(octets[start]) << 8 | Int(octets[start + 1])
            guard end - start - 2 >= length else { return }
            messages[count] = start + 2..<start + 2 + length
            count += 1
            start += 2 + length
        }
    }
}

/// Replies that are to be written, each with its length before it.
struct StreamOutput {
    /// Octets of a query that is answered here; no plain one is longer.
    static let longestQuery = 4096

    /// Octets that a reply may have.
    static let longestReply = 65_535

    private var octets = [UInt8](repeating: 0, count: 2 * (2 + longestReply))
    private var count = 0

    /// Whether any reply would still fit.
    var hasRoom: Bool { octets.count - count >= 2 + Self.longestReply }

    /// Lets `body` make the next reply, which does not count until it is appended.
    mutating func withRoom<Result>(_ body: (inout MutableRawSpan) -> Result) -> Result {
        octets.withMutableRawSpan(from: count + 2, body)
    }

    /// Appends the reply that lies in the room.
    mutating func append(_ length: Int) {
        octets[count] = UInt8(length >> 8)
        octets[count + 1] = UInt8(length & 0xFF)
        count += 2 + length
    }

    /// Writes to `stream`, if there is one, what the kernel takes; the rest goes to `waiting`.
    @ServiceLoop
    mutating func write(
        to stream: StreamConnection?,
        waiting: inout [UInt8]
    ) throws(SocketError) {
        guard count > 0 else { return }
        defer { count = 0 }
        let sent = try stream?.attemptWrite(octets, 0..<count) ?? 0
        if sent < count { waiting += octets[sent..<count] }
    }
}
