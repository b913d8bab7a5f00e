// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

@Suite("The reader rejects damaged snapshots")
struct DamagedSnapshotTests {
    private static func small() throws -> [UInt8] {
        let life = Life()
        life.insert(try .addresses("a.example", [1, 2], server: 3, staleWindow: 60))
        life.insert(try .denial("b.example"))
        return life.snapshot(digests: ["routes": 0x0102_0304_0506_0708, "": 1])
    }

    private func fault(of file: [UInt8], _ life: Life = Life()) -> SnapshotError? {
        var found: SnapshotError?
        do throws(SnapshotError) {
            _ = try life.cache.restore(file, now: life.origin, wallTime: 1_000_000) { _ in 1 }
        } catch {
            found = error
            #expect(life.cache.numbers.insertions == 0, "\(error)")
            #expect((0...file.count).contains(error.offset), "\(error)")
        }
        return found
    }

    @Test
    func `truncation at any octet is detected`() throws {
        let file = try Self.small()
        let life = Life()
        for count in file.indices {
            let found = fault(of: Array(file[..<count]), life)
            guard case .truncated(let offset) = found, offset <= count else {
                Issue.record("cut to \(count): \(String(describing: found))")
                return
            }
        }
        #expect(fault(of: file) == nil)
    }

    @Test
    func `a change of any bit is detected`() throws {
        let file = try Self.small()
        let life = Life()
        for index in file.indices {
            for bit in 0..<8 {
                var changed = file
                changed[index] ^= 1 << UInt8(bit)
                if fault(of: changed, life) == nil {
                    Issue.record("bit \(bit) of octet \(index)")
                    return
                }
            }
        }
    }

    @Test
    func `an octet inserted or removed anywhere is detected`() throws {
        let file = try Self.small()
        let life = Life()
        for index in file.indices {
            var longer = file
            longer.insert(0x5A, at: index)
            var shorter = file
            shorter.remove(at: index)
            if fault(of: longer, life) == nil || fault(of: shorter, life) == nil {
                Issue.record("at octet \(index)")
                return
            }
        }
        #expect(fault(of: file + [0]) == .trailingOctets(at: file.count))
    }

    @Test
    func `a snapshot may be read in pieces of any size`() throws {
        let file = try Self.small()
        for size in [1, 2, 3, 7, 10, 19, 64, file.count] {
            var reader = SnapshotReader(into: nil, now: Instant(nanoseconds: 1 << 50), wallTime: 0)
            var position = 0
            while position < file.count {
                let end = min(position + size, file.count)
                try reader.read(file[position..<end]) { _ in 0 }
                position = end
            }
            #expect(try reader.finish().entries == 2)
        }
    }

    @Test
    func `random octets are an error`() {
        var random = Seeded(seed: 41)
        let life = Life()
        for round in 0..<2_000 {
            let count = Int.random(in: 0..<300, using: &random)
            var file = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            if round.isMultiple(of: 2) {
                file = SnapshotFormat.mark + [0, 1] + file
            }
            #expect(fault(of: file, life) != nil)
        }
    }

    private static let prologue = SnapshotFormat.mark + [0, 1]
    private static let header = SnapshotFormat.block(.header, [0, 0, 0, 0, 0, 15, 66, 64])
    private static let names = SnapshotFormat.block(.names, [0, 7, 3, 0x69, 0x73, 0x70])
    private static func end(_ count: UInt8) -> [UInt8] {
        SnapshotFormat.block(.end, [0, 0, 0, 0, 0, 0, 0, count])
    }

    private static func entry(
        variant: UInt8 = 0xFF,
        rcode: UInt8 = 0,
        source: UInt8 = 1,
        flags: UInt8 = 0,
        server: UInt8 = 7,
        counts: [UInt8] = [0, 1, 0, 0, 0, 0],
        name: [UInt8] = [0],
        records: [UInt8] = [0, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1],
        recordCount: UInt16? = nil
    ) -> [UInt8] {
        let numbers: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1]
        let count = recordCount ?? UInt16(records.count)
        return [0, 1, variant, rcode, source, flags, 0, server] + numbers + counts
            + [UInt8(count >> 8), UInt8(count & 0xFF)] + name + records
    }

    private static func file(_ entry: [UInt8], count: UInt8 = 1) -> [UInt8] {
        prologue + header + names + SnapshotFormat.block(.entries, entry) + end(count)
    }

    @Test
    func `the entry that the following tests modify is valid`() throws {
        let life = Life()
        #expect(fault(of: Self.file(Self.entry()), life) == nil)
        #expect(try life.ask(Asked(name: .root))?.addresses == [0xC000_0201])
    }

    private static let strange: [(String, [UInt8])] = [
        ("a variant that no client has", entry(variant: 4)),
        ("a failure", entry(rcode: 2)),
        ("a local answer of this daemon", entry(source: 2)),
        ("an invalid source", entry(source: 3)),
        ("an invalid flag", entry(flags: 2)),
        ("a server without a name", entry(server: 8)),
        ("one record fewer than the count says", entry(counts: [0, 2, 0, 0, 0, 0])),
        ("one record more than the count says", entry(counts: [0, 0, 0, 0, 0, 0])),
        ("very many records", entry(counts: [255, 255, 255, 255, 255, 255])),
        ("a record cut short", entry(recordCount: 14)),
        ("more octets than the entry has", entry(recordCount: 16)),
        ("a name with a pointer", entry(name: [0xC0, 12])),
        ("a name without an end", entry(name: [63])),
        ("a pointer into itself", entry(records: [0xC0, 17] + [UInt8](repeating: 0, count: 10))),
        (
            "an OPT record",
            entry(records: [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0])
        ),
        (
            "an address of five octets",
            entry(records: [0, 0, 1, 0, 1, 0, 0, 0, 60, 0, 5, 1, 2, 3, 4, 5])
        ),
        ("nothing but a type", [0, 1]),
    ]

    @Test(arguments: strange)
    func `an entry that the cache never writes is an error`(
        _ label: String,
        _ entry: [UInt8]
    ) {
        let place = Self.prologue.count + Self.header.count + Self.names.count + 9
        #expect(fault(of: Self.file(entry)) == .badEntry(at: place))
    }

    private static let shapes: [(String, [UInt8], SnapshotError)] = [
        ("nothing", [], .truncated(at: 0)),
        ("another format", Array("PK".utf8), .notASnapshot(at: 0)),
        ("a later version", SnapshotFormat.mark + [0, 4], .version(4, at: 8)),
        ("no header", prologue + names, .strangeBlock(at: 10)),
        ("two headers", prologue + header + header, .strangeBlock(at: 27)),
        ("a short header", prologue + SnapshotFormat.block(.header, [1]), .badBlock(at: 10)),
        (
            "digests in a version without them",
            prologue + SnapshotFormat.block(.header, [UInt8](repeating: 0, count: 17)),
            .badBlock(at: 10)
        ),
        (
            "a digest without its name",
            SnapshotFormat.mark + [0, 3]
                + SnapshotFormat.block(.header, [UInt8](repeating: 0, count: 16)),
            .badBlock(at: 35)
        ),
        (
            "a long end",
            prologue + header + SnapshotFormat.block(.end, [UInt8](repeating: 0, count: 9)),
            .badBlock(at: 27)
        ),
        (
            "no known block", prologue + [0x51] + [UInt8](repeating: 0, count: 8),
            .strangeBlock(at: 10)
        ),
        (
            "a block that is too large", prologue + [0x48, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0],
            .tooLong(at: 10)
        ),
        ("a wrong count", prologue + header + end(1), .wrongCount(at: 27)),
        (
            "a name cut short", prologue + header + SnapshotFormat.block(.names, [0, 1, 9, 65]),
            .badBlock(at: 39)
        ),
        (
            "an invalid UTF-8 name",
            prologue + header + SnapshotFormat.block(.names, [0, 1, 1, 0xFF]), .badBlock(at: 40)
        ),
    ]

    @Test(arguments: shapes)
    func `a file of another format is an error`(
        _ label: String,
        _ file: [UInt8],
        _ expected: SnapshotError
    ) {
        #expect(fault(of: file) == expected)
        #expect("\(expected)".contains("octet \(expected.offset)"))
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `a forged entry that the reader accepts does not damage the structure of the cache`(
        _ seed: UInt64
    ) throws {
        var random = Seeded(seed: seed)
        let life = Life()
        life.insert(try .addresses("a.example", [1, 2], staleWindow: 60))
        life.insert(try .denial("b.example"))
        life.insert(try .addresses("c.example", Array(0..<20), type: .odd))
        let table = life.cache.withTable(now: life.origin) { table, now in
            table.snapshotStride(from: 0, now: now)
        }
        var taken = 0
        for _ in 0..<800 {
            var payload = table.octets
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: payload.indices, using: &random)
                payload[index] = UInt8.random(in: 0...255, using: &random)
            }
            let names = SnapshotFormat.block(.names, [0, 1, 0, 0, 2, 0])
            let file =
                Self.prologue + Self.header + names + SnapshotFormat.block(.entries, payload)
                + Self.end(3)
            let new = Life(limit: 0)
            guard fault(of: file, new) == nil else { continue }
            taken += 1
            let left = new.cache.withTable(now: new.origin) { table, _ in table.namesLeft }
            for name in left {
                for entry in new.cache.entries(named: name, type: nil, now: new.origin) {
                    let asked = Asked(name: name, type: entry.type, dnssecOK: true)
                    _ = try new.ask(asked)
                    _ = new.cache.staleAnswer(
                        for: Question(name: name, type: entry.type),
                        variant: .plain,
                        ttl: 30,
                        now: new.origin
                    )
                }
            }
            _ = new.snapshot()
            #expect(new.faults == [])
        }
        #expect(taken > 100)
    }
}

@Suite("CRC-32C (RFC 3720 appendix B.4)")
struct CRC32CTests {
    @Test(
        arguments: [
            ("32 zeroes", [UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ("32 ones", [UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            ("32 rising", Array(0..<32), 0x46DD_794E),
            ("32 falling", Array((0..<32).reversed()), 0x113F_DB5C),
            ("digits", Array("123456789".utf8), 0xE306_9283), ("nothing", [], 0),
        ] as [(String, [UInt8], UInt32)]
    )
    func `the checksum is as published, however the input is divided`(
        _ label: String,
        _ octets: [UInt8],
        _ expected: UInt32
    ) {
        for cut in 0...octets.count {
            var check = CRC32C()
            check.add(Array(octets[..<cut]))
            check.add(Array(octets[cut...]))
            #expect(check.value == expected)
        }
    }
}
