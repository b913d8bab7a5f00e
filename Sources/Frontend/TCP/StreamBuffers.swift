// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Input buffer of a TCP connection, split into messages.
struct StreamInput {
    /// Maximum unparsed octets: the longest message, and the octets of one read.
    private static let mostRest = 2 + 65_535 + TCPLimits.readOctets

    private(set) var octets = [UInt8](repeating: 0, count: mostRest + TCPLimits.readOctets)

    /// Ranges in `octets`; only the first `count` are valid.
    private(set) var messages = InlineArray<32, Range<Int>>(repeating: 0..<0)
    private(set) var count = 0

    private var start = 0
    private var end = 0

    mutating func begin(with rest: [UInt8]) {
        count = 0
        place(rest)
    }

    mutating func takeRest() -> [UInt8] {
        defer { start = end }
        return start == end ? [] : Array(octets[start..<end])
    }

    private mutating func place(_ rest: [UInt8]) {
        if !rest.isEmpty { octets.withMutableRawSpan { $0.copy(rest.rawSpan, to: 0) } }
        (start, end) = (0, rest.count)
    }

    var hasMessage: Bool {
        end - start >= 2 && end - start - 2 >= Int(octets[start]) << 8 | Int(octets[start + 1])
    }

    /// Reads at most ``TCPLimits/readOctets``; ``hasMessage`` must be false.
    @ServiceLoop
    mutating func read(from stream: StreamConnection) throws(SocketError) -> Int? {
        if start > 0 {
            place(takeRest())
        }
        let count = try stream.attemptRead(into: &octets, from: end, upTo: TCPLimits.readOctets)
        end += count ?? 0
        return count
    }

    /// Puts complete messages into the batch (RFC 7766 §8).
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

struct StreamOutput {
    static let longestQuery = 4096

    static let longestReply = 65_535

    private var octets = [UInt8](repeating: 0, count: 2 * (2 + longestReply))
    private var count = 0

    /// True if a reply of maximum length fits.
    var hasRoom: Bool { octets.count - count >= 2 + Self.longestReply }

    /// Calls `body` with the free space; `append` then commits the reply.
    mutating func withRoom<Result>(_ body: (inout MutableRawSpan) -> Result) -> Result {
        octets.withMutableRawSpan(from: count + 2, body)
    }

    mutating func append(_ length: Int) {
        octets[count] = UInt8(length >> 8)
        octets[count + 1] = UInt8(length & 0xFF)
        count += 2 + length
    }

    /// Appends to `waiting` the octets that the kernel does not accept.
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
