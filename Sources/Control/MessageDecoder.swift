// SPDX-License-Identifier: Apache-2.0

/// Cuts a stream of octets into NUL-terminated messages, never holding more than one may be long.
///
/// Pure: the caller reads at most `room` octets from its socket, appends them, and takes messages
/// with `next()` until there is none.  Pipelined messages stay in the buffer until they are taken,
/// and while they do there is less room, so a client that does not wait for answers is slowed by
/// its own socket buffer and not stored here.
package struct MessageDecoder: Sendable {
    /// The longest message allowed, in octets without its NUL.
    package let maximumOctets: Int

    /// What came and was not taken; at most `maximumOctets + 1` octets from `start` on.
    private var buffer: [UInt8] = []

    /// Where in `buffer` the next message begins.
    private var start = 0

    /// Where in `buffer` the search for a NUL goes on; nothing before it, from `start`, is one.
    private var scanned = 0

    // MARK: - Making

    /// Makes an empty decoder for messages of at most `maximumOctets`.
    package init(maximumOctets: Int) {
        precondition(maximumOctets > 0, "a message holds at least one octet")
        self.maximumOctets = maximumOctets
    }

    // MARK: - Reading

    /// How many octets may be appended now; 0 only when `next()` has something to say.
    package var room: Int { maximumOctets + 1 - (buffer.count - start) }

    /// Whether the beginning of a message is waiting for the rest of it.
    ///
    /// True at the end of a stream means that the peer went away in the middle of a message.
    package var isInsideMessage: Bool { start < buffer.count }

    // MARK: - Changing

    /// Takes what was read from the stream: at most `room` octets.
    package mutating func append(_ octets: some Collection<UInt8>) {
        precondition(octets.count <= room, "more octets than the decoder has room for")
        if start > 0 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: octets)
    }

    /// Takes the next complete message, without its NUL, or nil if it has not all come yet.
    ///
    /// - Throws: `tooLong` once the message that is coming exceeds the limit.
    package mutating func next() throws(ProtocolError) -> [UInt8]? {
        while scanned < buffer.count {
            if buffer[scanned] == 0 {
                let message = Array(buffer[start..<scanned])
                scanned += 1
                start = scanned
                return message
            }
            scanned += 1
        }
        guard buffer.count - start <= maximumOctets else { throw .tooLong(limit: maximumOctets) }
        return nil
    }
}
