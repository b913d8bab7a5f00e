// SPDX-License-Identifier: Apache-2.0

/// Reader of a message; its state is undefined after an error.
package struct WireReader: ~Escapable {
    private let message: Span<UInt8>
    package private(set) var offset: Int

    package private(set) var end: Int

    /// Decoded names with many labels; the key is the target of a compression pointer.
    ///
    /// Without this dictionary, a crafted message could make the reader decode a long name for each
    /// record.
    private var longNames: [Int: Name] = [:]

    @_lifetime(copy message)
    package init(_ message: Span<UInt8>, at offset: Int = 0) {
        self.message = message
        self.offset = offset
        end = message.count
    }
}

// MARK: - Numbers and octets

extension WireReader {
    package var isAtEnd: Bool { offset == end }
    package var remaining: Int { end - offset }

    @_lifetime(self: copy self)
    package mutating func uint8() throws(WireError) -> UInt8 {
        let value = try octet(at: offset)
        offset += 1
        return value
    }

    @_lifetime(self: copy self)
    package mutating func uint16() throws(WireError) -> UInt16 {
        guard remaining >= 2 else { throw .truncated(at: offset) }
        let value = UInt16(message[offset]) << 8 | UInt16(message[offset + 1])
        offset += 2
        return value
    }

    @_lifetime(self: copy self)
    package mutating func uint32() throws(WireError) -> UInt32 {
        let high = try uint16()
        let low = try uint16()
        return UInt32(high) << 16 | UInt32(low)
    }

    @_lifetime(self: copy self)
    package mutating func octets(_ count: Int) throws(WireError) -> [UInt8] {
        guard remaining >= count else { throw .truncated(at: offset) }
        let start = offset
        offset += count
        return copy(start..<offset)
    }

    @_lifetime(self: copy self)
    package mutating func rest() -> [UInt8] {
        let start = offset
        offset = end
        return copy(start..<end)
    }

    /// Reads a `<character-string>` (RFC 1035 §3.3).
    @_lifetime(self: copy self)
    package mutating func characterString() throws(WireError) -> [UInt8] {
        let count = Int(try uint8())
        return try octets(count)
    }

    @_lifetime(self: copy self)
    package mutating func enterField(_ count: Int) throws(WireError) -> Int {
        guard remaining >= count else { throw .truncated(at: offset) }
        let outer = end
        end = offset + count
        return outer
    }

    @_lifetime(self: copy self)
    package mutating func leaveField(_ outer: Int) {
        offset = end
        end = outer
    }

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
    /// Reads a name and its compression pointers (RFC 1035 §4.1.4, RFC 9267 §2).
    @_lifetime(self: copy self)
    package mutating func name() throws(WireError) -> Name { try name(sharing: nil) }

    /// Reads a name; if it is a pointer to the name in the question, returns `question`.
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

    private static var fewSteps: Int { 16 }

    @_lifetime(self: copy self)
    package mutating func uncompressedName() throws(WireError) -> Name {
        let start = offset
        return Name(checked: copy(start..<(try skipUncompressedName())))
    }

    @_lifetime(self: copy self)
    package mutating func skipUncompressedName() throws(WireError) -> Int {
        let extent = try walkName(at: offset, allowingPointers: false)
        offset = extent.end
        return extent.end
    }

    private struct NameExtent {
        var end: Int

        var octets: Int

        var target: Int?

        var steps: Int
    }

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

            default: throw .reservedLabel(at: position)
            }
        }
    }

    private func pointerTarget(_ first: UInt8, _ second: UInt8) -> Int {
        Int(first & 0x3F) << 8 | Int(second)
    }
}
