// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Names in messages (RFC 1035 §4.1.4, RFC 9267 §2)")
struct NameReadingTests {
    private func read(_ octets: [UInt8], at offset: Int) throws(WireError) -> (Name, end: Int) {
        let message = [UInt8](repeating: 0, count: 12) + octets
        var reader = WireReader(message.span, at: offset)
        let name = try reader.name()
        return (name, reader.offset)
    }

    @Test
    func `a pointer ends the name and has two octets`() throws {
        let octets = hex("07 6578616d706c65 03 636f6d 00 03 777777 C00C FF")
        let (name, end) = try read(octets, at: 25)
        #expect(name == "www.example.com")
        #expect(end == 31)
    }

    @Test
    func `a pointer may lead to a pointer`() throws {
        let octets = hex("03 636f6d 00 C00C C011")
        let (name, end) = try read(octets, at: 19)
        #expect(name == "com")
        #expect(end == 21)
    }

    @Test
    func `a name keeps its letter case`() throws {
        #expect(try read(hex("03 436F4d 00"), at: 12).0.octets == hex("03 436F4d 00"))
    }

    @Test(
        arguments: [
            ("to itself", "C00C", 12, .forwardPointer(at: 12)),
            ("forwards", "C010 0000 01 61 00", 12, .forwardPointer(at: 12)),
            ("to its own first label", "01 61 C00C", 12, .forwardPointer(at: 14)),
            ("into its own labels", "03 616161 C00D", 12, .forwardPointer(at: 16)),
            ("two that chase each other", "C00E C00C", 14, .forwardPointer(at: 12)),
            ("into the header", "C00B", 12, .pointerIntoHeader(at: 12)),
            ("to the start of the header", "01 61 C000", 12, .pointerIntoHeader(at: 14)),
            ("cut", "C0", 12, .truncated(at: 13)),
            ("label type 01", "41 61 00", 12, .reservedLabel(at: 12)),
            ("label type 10", "81 61 00", 12, .reservedLabel(at: 12)),
            ("nothing", "", 12, .truncated(at: 12)),
            ("cut after a label", "01 61", 12, .truncated(at: 14)),
            ("cut in a label", "05 61", 12, .truncated(at: 14)),
        ] as [(String, String, Int, WireError)]
    )
    func `hostile pointers and labels are refused`(case: (String, String, Int, WireError)) {
        let (_, octets, offset, expected) = `case`
        #expect(throws: expected) { try read(hex(octets), at: offset) }
    }

    @Test
    func `at most 127 pointers are followed`() throws {
        var octets: [UInt8] = [0, 0]
        for hop in 0..<128 { octets += two(0xC000 | (12 + 2 * hop)) }
        #expect(try read(octets, at: 12 + 2 * 127).0.isRoot)
        #expect(throws: WireError.tooManyPointers(at: 14)) { try read(octets, at: 12 + 2 * 128) }
    }

    @Test
    func `a name of 127 labels and 126 pointers is parsed`() throws {
        var octets: [UInt8] = [1, 0x61, 0]
        var last = 12
        for _ in 0..<126 {
            let start = 12 + octets.count
            octets += [1, 0x62] + two(0xC000 | last)
            last = start
        }
        let name = try read(octets, at: last).0
        #expect(name.octets.count == 255)
        #expect(name.labelCount == 127)
    }

    @Test
    func `a name with pointers has at most 255 octets`() throws {
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        let octets = label + label + label + [0] + label + [0xC0, 12]
        #expect(throws: WireError.nameTooLong(at: 12 + 128)) { try read(octets, at: 12 + 193) }
    }

    private static var chain: (message: [UInt8], offsets: [Int]) {
        var message = [UInt8](repeating: 0, count: 13)
        var offsets = [12]
        for _ in 0..<126 {
            let pointer = pointer(to: offsets[offsets.count - 1])
            offsets.append(message.count)
            message += [1, 0x61] + pointer
        }
        return (message, offsets)
    }

    private static func pointer(to offset: Int) -> [UInt8] {
        [0xC0 | UInt8(offset >> 8), UInt8(offset & 0xFF)]
    }

    @Test
    func `all pointers to the same offset give the same name`() throws {
        var (message, offsets) = Self.chain
        for target in offsets.dropLast() + offsets.dropLast().reversed() {
            message += Self.pointer(to: target) + [1, 0x62] + Self.pointer(to: target)
        }
        var reader = WireReader(message.span, at: 12)
        while !reader.isAtEnd {
            var other = WireReader(message.span, at: reader.offset)
            let (name, same) = (try reader.name(), try other.name())
            #expect(name.octets == same.octets)
            let (end, sameEnd) = (reader.offset, other.offset)
            #expect(end == sameEnd)
        }
    }

    @Test
    func `a second pointer to a long name does not exceed 255 octets`() throws {
        let (chain, offsets) = Self.chain
        let last = Self.pointer(to: offsets[126])
        let message = chain + last + [1, 0x62] + last + [2, 0x62, 0x62] + last
        var reader = WireReader(message.span, at: chain.count)
        let counts = [try reader.name().octets.count, try reader.name().octets.count]
        #expect(counts == [253, 255])
        do throws(WireError) {
            _ = try reader.name()
            Issue.record("a name of 256 octets was read")
        } catch {
            #expect(error == .nameTooLong(at: message.count - 2))
        }
    }

    @Test
    func `a name in a field does not extend beyond the field`() throws {
        let message = [UInt8](repeating: 0, count: 12) + hex("03 636f6d 00")
        var reader = WireReader(message.span, at: 12)
        _ = try reader.enterField(3)
        let result = Result { try reader.name() }
        #expect(throws: WireError.truncated(at: 15)) { try result.get() }
    }
}
