// SPDX-License-Identifier: Apache-2.0

/// Decoder that splits a stream into NUL-terminated messages, with bounded memory.
///
/// The caller appends at most `room` octets, then calls `next()` until the result is nil.
package struct MessageDecoder: Sendable {
    package let maximumOctets: Int

    /// At most `maximumOctets + 1` octets; `next()` has returned the octets before `start`.
    private var buffer: [UInt8] = []

    private var start = 0
    private var scanned = 0

    // MARK: - Making

    package init(maximumOctets: Int) {
        precondition(maximumOctets > 0, "a message holds at least one octet")
        self.maximumOctets = maximumOctets
    }

    // MARK: - Reading

    /// Number of octets that can be appended; 0 only if `next()` would return a message or throw.
    package var room: Int { maximumOctets + 1 - (buffer.count - start) }

    package var isInsideMessage: Bool { start < buffer.count }

    // MARK: - Changing

    package mutating func append(_ octets: some Collection<UInt8>) {
        precondition(octets.count <= room, "too many octets: at most `room` can be appended")
        if start > 0 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: octets)
    }

    /// Returns the next complete message without NUL.
    ///
    /// - Throws: `tooLong` if the incomplete message exceeds the limit.
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
