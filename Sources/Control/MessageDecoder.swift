// SPDX-License-Identifier: Apache-2.0

/// Splitter of an octet stream into NUL-terminated messages, with bounded memory.
///
/// Pure state machine: the caller reads at most `room` octets from its socket, appends them, and
/// calls `next()` until it returns nil. Pipelined messages stay in the buffer until they are taken
/// and reduce `room`, so a client that does not wait for replies fills its own socket buffer.
package struct MessageDecoder: Sendable {
    /// Longest allowed message, in octets without its NUL.
    package let maximumOctets: Int

    /// Received octets; at most `maximumOctets + 1` octets from `start` on are not yet taken.
    private var buffer: [UInt8] = []

    /// Index in `buffer` of the next message.
    private var start = 0

    /// Index in `buffer` where the search for a NUL continues; there is none between `start` and
    /// here.
    private var scanned = 0

    // MARK: - Making

    /// Creates an empty decoder for messages of at most `maximumOctets`.
    package init(maximumOctets: Int) {
        precondition(maximumOctets > 0, "a message holds at least one octet")
        self.maximumOctets = maximumOctets
    }

    // MARK: - Reading

    /// Number of octets that may be appended now; 0 only if `next()` would return or throw.
    package var room: Int { maximumOctets + 1 - (buffer.count - start) }

    /// True if part of a message is buffered.
    ///
    /// At the end of a stream this means that the peer disconnected within a message.
    package var isInsideMessage: Bool { start < buffer.count }

    // MARK: - Changing

    /// Appends octets that were read from the stream: at most `room`.
    package mutating func append(_ octets: some Collection<UInt8>) {
        precondition(octets.count <= room, "too many octets: at most `room` can be appended")
        if start > 0 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: octets)
    }

    /// Returns the next complete message without its NUL, or nil if it is not complete.
    ///
    /// - Throws: `tooLong` once the incomplete message exceeds the limit.
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
