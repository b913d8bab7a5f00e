// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

struct RawQuery: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var flags = "0100"
    var counts = "0001 0000 0000 0000"
    var name = "03 777777 07 6578616D706C65 03 636F6D 00"
    var type = "0001"
    var recordClass = "0001"
    var rest = ""

    init(_ label: String, _ change: (inout RawQuery) -> Void = { _ in }) {
        testDescription = label
        change(&self)
    }

    var octets: [UInt8] { hex("1234" + flags + counts + name + type + recordClass + rest) }

    mutating func addOPT(
        payload: String = "04D0",
        version: String = "00",
        flags: String = "0000",
        options: String = ""
    ) {
        counts = "0001 0000 0000 0001"
        let length = String(hex(options).count, radix: 16)
        rest +=
            "00 0029" + payload + "00" + version + flags
            + String(repeating: "0", count: 4 - length.count) + length + options
    }
}

func fault(of octets: [UInt8]) -> QueryFault? {
    do throws(QueryFault) {
        _ = try QueryFacts(checking: octets.rawSpan)
        return nil
    } catch {
        return error
    }
}

@Suite("In-place parsing of queries (RFC 1035 §4.1, RFC 6891 §6.1, RFC 9619 §4)")
struct QueryViewTests {
    private static let plain: [RawQuery] = [
        RawQuery("nothing odd"),
        RawQuery("RD clear") { $0.flags = "0000" },
        RawQuery("AD, CD and Z set") { $0.flags = "0170" },
        RawQuery("AA, TC, RA and an RCODE, which mean nothing in a query") { $0.flags = "068F" },
        RawQuery("the root") { $0.name = "00" },
        RawQuery("a label of 63 octets") { $0.name = "3F" + label(63) + "00" },
        RawQuery("a name of 255 octets") {
            $0.name = [63, 63, 63, 61].map { String($0, radix: 16) + label($0) }.joined() + "00"
        },
        RawQuery("any octets in a label") { $0.name = "04 00 2E FF C0 00" },
        RawQuery("another class and an unknown type") {
            $0.type = "FDE8"
            $0.recordClass = "0003"
        },
        RawQuery("an OPT") { $0.addOPT() },
        RawQuery("an OPT of another version") { $0.addOPT(version: "01") },
        RawQuery("an OPT with a cookie, a subnet and padding") {
            $0.addOPT(options: "000A 0008 0102030405060708 0008 0007 0001 18 00 C00002 000C 0000")
        },
        RawQuery("an OPT with an option of unknown form") {
            $0.addOPT(options: "0008 0001 FF")
        },
    ]

    @Test(arguments: plain)
    func `a plain query is accepted`(_ query: RawQuery) throws {
        let octets = query.octets
        let view = QueryView(try QueryFacts(checking: octets.rawSpan), in: octets.rawSpan)
        #expect(view.octets.byteCount == octets.count)
        let name = hex(query.name)
        #expect(view.facts.nameEnd == 12 + name.count)
        #expect(view.name.byteCount == name.count)
        let isSame = view.name.isSameName(as: name.rawSpan)
        #expect(isSame)
        #expect(view.facts.questionEnd == view.facts.nameEnd + 4)
        #expect(two(Int(view.facts.flags)) == hex(query.flags))
        #expect(two(Int(view.facts.type.rawValue)) == hex(query.type))
        #expect(two(Int(view.facts.recordClass.rawValue)) == hex(query.recordClass))
        #expect((view.facts.edns != nil) == (query.counts.last == "1"))
    }

    private static let faulty: [(RawQuery, QueryFault)] = [
        (RawQuery("a reply") { $0.flags = "8180" }, .ignored),
        (RawQuery("a reply of another opcode") { $0.flags = "A800" }, .ignored),
        (RawQuery("a status request") { $0.flags = "1000" }, .otherOpcode),
        (RawQuery("a notification") { $0.flags = "2400" }, .otherOpcode),
        (
            RawQuery("an update, with other meanings of the counts") {
                $0.flags = "2800"
                $0.counts = "0001 0000 0002 0000"
            }, .otherOpcode
        ),
        (RawQuery("no question") { $0.counts = "0000 0000 0000 0000" }, .malformed),
        (RawQuery("two questions") { $0.counts = "0002 0000 0000 0000" }, .malformed),
        (RawQuery("an answer") { $0.counts = "0001 0001 0000 0000" }, .unusual),
        (RawQuery("an authority") { $0.counts = "0001 0000 0001 0000" }, .unusual),
        (RawQuery("two additionals") { $0.counts = "0001 0000 0000 0002" }, .unusual),
        (
            RawQuery("a signature instead of an OPT") {
                $0.counts = "0001 0000 0000 0001"
                $0.rest = "00 00FA 00FF 00000000 0000"
            }, .unusual
        ),
        (
            RawQuery("an OPT that has a name") {
                $0.counts = "0001 0000 0000 0001"
                $0.rest = "01 61 00 0029 04D0 00000000 0000"
            }, .unusual
        ),
        (RawQuery("a label of 64 octets") { $0.name = "40" + label(64) + "00" }, .malformed),
        (RawQuery("a pointer") { $0.name = "C00C" }, .malformed),
        (RawQuery("a pointer behind a label") { $0.name = "01 61 C000" }, .malformed),
        (RawQuery("a reserved label") { $0.name = "80 61 00" }, .malformed),
        (
            RawQuery("a name of 256 octets") {
                $0.name =
                    [63, 63, 63, 62].map { String($0, radix: 16) + label($0) }.joined() + "00"
            }, .malformed
        ),
        (RawQuery("an octet behind the question") { $0.rest = "00" }, .malformed),
        (
            RawQuery("an octet behind the OPT") {
                $0.addOPT()
                $0.rest += "00"
            }, .malformed
        ),
        (
            RawQuery("an OPT that is counted but not there") {
                $0.counts = "0001 0000 0000 0001"
            }, .malformed
        ),
        (
            RawQuery("options that are longer than the datagram") {
                $0.counts = "0001 0000 0000 0001"
                $0.rest = "00 0029 04D0 00000000 0005 000C 0000"
            }, .malformed
        ),
        (
            RawQuery("an option that is longer than the record") {
                $0.addOPT(options: "000C 0001")
            }, .malformed
        ),
        (
            RawQuery("a second option that is longer than the record") {
                $0.addOPT(options: "000C 0001 00 000C FFFF 00")
            }, .malformed
        ),
        (RawQuery("half an option's head") { $0.addOPT(options: "000C 00") }, .malformed),
    ]

    @Test(arguments: faulty)
    func `a message that is not a plain query is refused with a reason`(
        _ query: RawQuery,
        _ expected: QueryFault
    ) {
        #expect(fault(of: query.octets) == expected)
    }

    @Test(arguments: plain)
    func `every prefix of a query is ignored or malformed`(_ query: RawQuery) {
        let octets = query.octets
        for count in octets.indices {
            #expect(
                fault(of: Array(octets[..<count])) == (count < 12 ? .ignored : .malformed),
                "\(count) octets"
            )
        }
    }

    @Test(
        arguments: [
            ("no EDNS", nil, 512),
            ("less than the minimum", 100, 512),
            ("zero", 0, 512),
            ("more than the minimum", 513, 513),
            ("our maximum", 1232, 1232),
            ("more than our maximum", 4096, 1232),
            ("the largest number", 65_535, 1232),
        ] as [(String, Int?, Int)]
    )
    func `the payload sizes of the client and of the server limit a reply`(
        _ label: String,
        _ payload: Int?,
        _ limit: Int
    ) throws {
        let query = RawQuery(label) { query in
            guard let payload else { return }
            query.addOPT(payload: String(0x10000 + payload, radix: 16).dropFirst().description)
        }
        #expect(try QueryFacts(checking: query.octets.rawSpan).replyLimit == limit)
    }

    @Test(arguments: [
        ("neither", "0100", "0000", false, false),
        ("DO", "0100", "8000", true, false),
        ("CD", "0110", "0000", false, true),
        ("both and reserved flags", "0110", "FFFF", true, true),
        ("reserved flags without DO", "0100", "7FFF", false, false),
    ])
    func `DO and CD are parsed`(
        _ label: String,
        _ flags: String,
        _ edns: String,
        _ isOK: Bool,
        _ isDisabled: Bool
    ) throws {
        let query = RawQuery(label) { query in
            query.flags = flags
            query.addOPT(version: "07", flags: edns)
        }
        let facts = try QueryFacts(checking: query.octets.rawSpan)
        #expect(facts.dnssecOK == isOK)
        #expect(facts.checkingDisabled == isDisabled)
        #expect(facts.edns?.payloadSize == 1232)
        #expect(facts.edns?.version == 7)
    }

    private static func label(_ count: Int) -> String { String(repeating: "61", count: count) }
}
