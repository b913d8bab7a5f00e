// SPDX-License-Identifier: Apache-2.0

/// A place in a message, and the ways to read on from there.
///
/// Reads over the octets where they are: nothing is copied but what is asked for, and the compiler
/// holds the reader to the life of the buffer.  After an error the place is not defined; a message
/// that threw is not read further.
package struct WireReader: ~Escapable {
    /// The whole message, as pointers count from its start.
    private let message: Span<UInt8>

    /// The octet to be read next.
    package private(set) var offset: Int

    /// Where reading must stop: the end of the message, or of the field being read.
    package private(set) var end: Int

    /// Starts at `offset` of `message`.
    @_lifetime(copy message)
    package init(_ message: Span<UInt8>, at offset: Int = 0) {
        self.message = message
        self.offset = offset
        end = message.count
    }
}

// MARK: - Numbers and octets

extension WireReader {
    /// Whether the field, or the message, is read up.
    package var isAtEnd: Bool { offset == end }

    /// How many octets are left before the end.
    package var remaining: Int { end - offset }

    /// Reads one octet.
    @_lifetime(self: copy self)
    package mutating func uint8() throws(WireError) -> UInt8 {
        let value = try octet(at: offset)
        offset += 1
        return value
    }

    /// Reads two octets, most significant first.
    @_lifetime(self: copy self)
    package mutating func uint16() throws(WireError) -> UInt16 {
        guard remaining >= 2 else { throw .truncated(at: offset) }
        let value = UInt16(message[offset]) << 8 | UInt16(message[offset + 1])
        offset += 2
        return value
    }

    /// Reads four octets, most significant first.
    @_lifetime(self: copy self)
    package mutating func uint32() throws(WireError) -> UInt32 {
        let high = try uint16()
        let low = try uint16()
        return UInt32(high) << 16 | UInt32(low)
    }

    /// Reads `count` octets into an array of their own.
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

    /// Reads a `<character-string>`: a length and so many octets (RFC 1035 §3.3).
    @_lifetime(self: copy self)
    package mutating func characterString() throws(WireError) -> [UInt8] {
        let count = Int(try uint8())
        return try octets(count)
    }

    /// Makes the next `count` octets a field of their own, which reading cannot leave.
    ///
    /// - Returns: what to give ``leaveField(_:)`` when the field is read.
    @_lifetime(self: copy self)
    package mutating func enterField(_ count: Int) throws(WireError) -> Int {
        guard remaining >= count else { throw .truncated(at: offset) }
        let outer = end
        end = offset + count
        return outer
    }

    /// Ends a field; the next octet is the one after it.
    @_lifetime(self: copy self)
    package mutating func leaveField(_ outer: Int) {
        offset = end
        end = outer
    }

    /// The octet at `position`, which must be before the end.
    private func octet(at position: Int) throws(WireError) -> UInt8 {
        guard position < end else { throw .truncated(at: position) }
        return message[position]
    }

    /// Copies octets that are known to be there.
    private func copy(_ range: Range<Int>) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(range.count)
        for index in range { octets.append(message[index]) }
        return octets
    }
}

// MARK: - Names

extension WireReader {
    /// Reads a name, following compression pointers, and ends just past it.
    ///
    /// Every pointer must lead before the run of labels it ends, so no message can make this loop;
    /// honest compressors never do otherwise (RFC 1035 §4.1.4 says "a prior occurrence").  At most
    /// 127 pointers are followed, so a long chain of them costs an attacker more than it costs us
    /// (RFC 9267 §2 tells of those who followed more).
    @_lifetime(self: copy self)
    package mutating func name() throws(WireError) -> Name {
        let start = offset
        let extent = try walkName(at: start)
        offset = extent.end
        guard extent.isCompressed else { return Name(checked: copy(start..<extent.end)) }

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
            guard length > 0 else { return Name(checked: octets) }
            position = next
        }
    }

    /// Reads a name in which pointers are not allowed.
    @_lifetime(self: copy self)
    package mutating func uncompressedName() throws(WireError) -> Name {
        let start = offset
        return Name(checked: copy(start..<(try skipUncompressedName())))
    }

    /// Checks a name in which pointers are not allowed, and ends just past it.
    ///
    /// - Returns: the offset just past the name.
    @_lifetime(self: copy self)
    package mutating func skipUncompressedName() throws(WireError) -> Int {
        let extent = try walkName(at: offset, allowingPointers: false)
        offset = extent.end
        return extent.end
    }

    /// Checks a name and ends just past it, without making anything of it.
    @_lifetime(self: copy self)
    package mutating func skipName() throws(WireError) {
        offset = try walkName(at: offset).end
    }

    /// What a name takes in the message and what it would take written out.
    private struct NameExtent {
        /// The offset just past the name's last octet or first pointer.
        var end: Int

        /// How many octets the name has uncompressed, 1...255.
        var octets: Int

        /// Whether the name has a pointer.
        var isCompressed: Bool
    }

    /// Follows the name at `start` to its root label and checks all there is to check.
    private func walkName(
        at start: Int,
        allowingPointers: Bool = true
    ) throws(WireError) -> NameExtent {
        var octets = 1
        var runStart = start
        var position = start
        var end: Int?
        var hops = 0

        while true {
            let length = try octet(at: position)
            switch length {
            case 0:
                let isCompressed = end != nil
                return NameExtent(
                    end: end ?? position + 1,
                    octets: octets,
                    isCompressed: isCompressed
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
                if end == nil { end = position + 2 }
                runStart = target
                position = target

            default:
                throw .reservedLabel(at: position)
            }
        }
    }

    /// The offset in the two octets of a pointer.
    private func pointerTarget(_ first: UInt8, _ second: UInt8) -> Int {
        Int(first & 0x3F) << 8 | Int(second)
    }
}
