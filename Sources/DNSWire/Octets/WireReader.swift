// SPDX-License-Identifier: Apache-2.0

/// A read position in a message.
///
/// The reader reads in place and copies only the data it returns. The compiler ties the lifetime of
/// the reader to the buffer. After an error the position is undefined: discard the reader.
package struct WireReader: ~Escapable {
    /// The whole message; compression pointers count from its start.
    private let message: Span<UInt8>

    /// Offset of the next octet.
    package private(set) var offset: Int

    /// End of the readable range: the end of the message or of the current field.
    package private(set) var end: Int

    /// Decoded names with many labels; the key is the offset to which a pointer led.
    ///
    /// A record of 12 octets can have an owner of 127 labels.  Without this table, thousands of
    /// such records would each cost the work to follow and copy the same labels.
    private var longNames: [Int: Name] = [:]

    /// Creates a reader at `offset` of `message`.
    @_lifetime(copy message)
    package init(_ message: Span<UInt8>, at offset: Int = 0) {
        self.message = message
        self.offset = offset
        end = message.count
    }
}

// MARK: - Numbers and octets

extension WireReader {
    /// True if no octets remain in the field or message.
    package var isAtEnd: Bool { offset == end }

    /// Number of octets before the end.
    package var remaining: Int { end - offset }

    /// Reads one octet.
    @_lifetime(self: copy self)
    package mutating func uint8() throws(WireError) -> UInt8 {
        let value = try octet(at: offset)
        offset += 1
        return value
    }

    /// Reads two octets in network byte order.
    @_lifetime(self: copy self)
    package mutating func uint16() throws(WireError) -> UInt16 {
        guard remaining >= 2 else { throw .truncated(at: offset) }
        let value = UInt16(message[offset]) << 8 | UInt16(message[offset + 1])
        offset += 2
        return value
    }

    /// Reads four octets in network byte order.
    @_lifetime(self: copy self)
    package mutating func uint32() throws(WireError) -> UInt32 {
        let high = try uint16()
        let low = try uint16()
        return UInt32(high) << 16 | UInt32(low)
    }

    /// Reads `count` octets into a new array.
    @_lifetime(self: copy self)
    package mutating func octets(_ count: Int) throws(WireError) -> [UInt8] {
        guard remaining >= count else { throw .truncated(at: offset) }
        let start = offset
        offset += count
        return copy(start..<offset)
    }

    /// Reads all octets before the end.
    @_lifetime(self: copy self)
    package mutating func rest() -> [UInt8] {
        let start = offset
        offset = end
        return copy(start..<end)
    }

    /// Reads a `<character-string>`: a length octet and the data (RFC 1035 §3.3).
    @_lifetime(self: copy self)
    package mutating func characterString() throws(WireError) -> [UInt8] {
        let count = Int(try uint8())
        return try octets(count)
    }

    /// Restricts reading to the next `count` octets, until ``leaveField(_:)``.
    ///
    /// - Returns: The argument for ``leaveField(_:)``.
    @_lifetime(self: copy self)
    package mutating func enterField(_ count: Int) throws(WireError) -> Int {
        guard remaining >= count else { throw .truncated(at: offset) }
        let outer = end
        end = offset + count
        return outer
    }

    /// Ends a field and continues after it.
    @_lifetime(self: copy self)
    package mutating func leaveField(_ outer: Int) {
        offset = end
        end = outer
    }

    /// Returns the octet at `position`, which must be before the end.
    private func octet(at position: Int) throws(WireError) -> UInt8 {
        guard position < end else { throw .truncated(at: position) }
        return message[position]
    }

    private func copy(_ range: Range<Int>) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(range.count)
        for index in range { octets.append(message[index]) }
        return octets
    }
}

// MARK: - Names

extension WireReader {
    /// Reads a name, following compression pointers (RFC 1035 §4.1.4), and continues after it.
    ///
    /// The page of the module explains the limits of pointers (RFC 9267 §2).
    @_lifetime(self: copy self)
    package mutating func name() throws(WireError) -> Name { try name(sharing: nil) }

    /// Reads a name; `question`, the name after the header, is returned for a pointer to it.
    ///
    /// Most owner names are such a pointer, and share the memory of the question.
    @_lifetime(self: copy self)
    mutating func name(sharing question: Name?) throws(WireError) -> Name {
        let start = offset
        if let question, remaining >= 2, start > WireLimits.headerOctets,
            message[start] == 0xC0, message[start + 1] == WireLimits.headerOctets
        {
            offset = start + 2
            return question
        }
        let extent = try walkName(at: start)
        offset = extent.end
        guard let target = extent.target else { return Name(checked: copy(start..<extent.end)) }
        let own = extent.end - 2 - start
        if let long = longNames[target] {
            return own == 0 ? long : Name(checked: copy(start..<start + own) + long.octets)
        }

        var octets: [UInt8] = []
        octets.reserveCapacity(extent.octets)
        var position = start
        while true {
            let length = message[position]
            if length >= 0xC0 {
                position = pointerTarget(length, message[position + 1])
                continue
            }
            let next = position + 1 + Int(length)
            for index in position..<next { octets.append(message[index]) }
            position = next
            if length == 0 { break }
        }
        if extent.steps > Self.fewSteps { longNames[target] = Name(checked: Array(octets[own...])) }
        return Name(checked: octets)
    }

    /// Checks and skips a name.
    ///
    /// - Returns: The offset to which the first compression pointer leads; nil if there is none.
    @_lifetime(self: copy self)
    mutating func skipName() throws(WireError) -> Int? {
        let extent = try walkName(at: offset)
        offset = extent.end
        return extent.target
    }

    /// Number of labels and pointers up to which expanding a name again is cheap.
    private static var fewSteps: Int { 16 }

    /// Reads a name in which compression pointers are forbidden.
    @_lifetime(self: copy self)
    package mutating func uncompressedName() throws(WireError) -> Name {
        let start = offset
        return Name(checked: copy(start..<(try skipUncompressedName())))
    }

    /// Checks and skips a name in which compression pointers are forbidden.
    ///
    /// - Returns: The offset after the name.
    @_lifetime(self: copy self)
    package mutating func skipUncompressedName() throws(WireError) -> Int {
        let extent = try walkName(at: offset, allowingPointers: false)
        offset = extent.end
        return extent.end
    }

    /// Size of a name in the message and uncompressed.
    private struct NameExtent {
        /// The offset after the last octet or the first pointer of the name.
        var end: Int

        /// The size of the uncompressed name in octets, 1...255.
        var octets: Int

        /// The offset to which the first pointer leads; nil if there is none.
        var target: Int?

        /// The number of labels and pointers that were followed.
        var steps: Int
    }

    /// Follows the name at `start` to its root label and validates all labels and pointers.
    private func walkName(
        at start: Int,
        allowingPointers: Bool = true
    ) throws(WireError) -> NameExtent {
        var octets = 1
        var steps = 0
        var runStart = start
        var position = start
        var end: Int?
        var first: Int?
        var hops = 0

        while true {
            let length = try octet(at: position)
            steps += 1
            switch length {
            case 0:
                return NameExtent(
                    end: end ?? position + 1,
                    octets: octets,
                    target: first,
                    steps: steps
                )

            case 1...63:
                octets += Int(length) + 1
                guard octets <= WireLimits.nameOctets else { throw .nameTooLong(at: position) }
                guard position + Int(length) < self.end else { throw .truncated(at: self.end) }
                position += Int(length) + 1

            case 0xC0...:
                guard allowingPointers else { throw .compressedName(at: position) }
                let target = pointerTarget(length, try octet(at: position + 1))
                guard target < runStart else { throw .forwardPointer(at: position) }
                guard target >= WireLimits.headerOctets else {
                    throw .pointerIntoHeader(at: position)
                }
                hops += 1
                guard hops <= WireLimits.pointersPerName else {
                    throw .tooManyPointers(at: position)
                }
                if first == nil {
                    (first, end) = (target, position + 2)
                    if let long = longNames[target] {
                        octets += long.octets.count - 1
                        guard octets <= WireLimits.nameOctets else {
                            throw .nameTooLong(at: position)
                        }
                        // The number of pointers was checked when the long name was read.
                        return NameExtent(
                            end: position + 2,
                            octets: octets,
                            target: target,
                            steps: steps
                        )
                    }
                }
                runStart = target
                position = target

            default:
                throw .reservedLabel(at: position)
            }
        }
    }

    /// Returns the offset in the two octets of a compression pointer.
    private func pointerTarget(_ first: UInt8, _ second: UInt8) -> Int {
        Int(first & 0x3F) << 8 | Int(second)
    }
}
