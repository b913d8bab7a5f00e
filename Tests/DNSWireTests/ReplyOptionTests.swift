// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Options in the OPT record of a reply (RFC 7873 §5.2, RFC 7828 §3.3.2, RFC 8914 §3)")
struct ReplyOptionTests {
    private static let question = Question(name: "www.example.com", type: .a)
    private static let cookie = ServerCookie(
        head: 0x0100_0000_5CF7_9F11,
        hash: 0x1F81_30C3_EEE2_9480
    )
    private static let explanation = hex("000F 000A 0016") + Array("tell why".utf8)

    private struct Terms {
        var explanation: [UInt8] = []
        var limit = 1232
        var options = ReplyOptions()
    }

    private static func reply(
        addresses: Int,
        opt: Bool = true,
        _ change: (inout Terms) -> Void = { _ in }
    ) throws -> (octets: [UInt8], message: Message) {
        var terms = Terms()
        change(&terms)
        let sections = try AnswerSections(
            question: question,
            answers: (0..<addresses).map { index in
                let address = IPv4Address(value: 0xC000_0200 + UInt32(index))
                return Record(name: question.name, ttl: 300, data: .a(address))
            }
        )
        let query = RawQuery("query") { if opt { $0.addOPT() } }.octets
        var facts = try QueryFacts(checking: query.rawSpan)
        facts.replyOptions = terms.options
        var buffer = query + [UInt8](repeating: 0xEE, count: terms.limit)
        let count = buffer.withMutableRawSpan { buffer in
            let answer = ReadyAnswer(
                rcode: 0,
                flags: 0,
                answerCount: sections.answerCount,
                authorityCount: 0,
                additionalCount: 0,
                sections: sections.octets.rawSpan,
                ttlOffsets: sections.ttlOffsets.rawSpan,
                options: terms.explanation.rawSpan,
                age: 0
            )
            return facts.reply(with: answer, in: &buffer, limit: terms.limit)
        }
        #expect(count <= terms.limit)
        #expect(buffer[count...].allSatisfy { $0 == 0xEE || count < query.count })
        let octets = Array(buffer[..<count])
        return (octets, try Message(parsing: octets))
    }

    @Test
    func `the reply has the client's cookie and a server cookie`() throws {
        let (_, message) = try Self.reply(addresses: 2) {
            $0.options.cookies = (0x2464_C4AB_CF10_C957, Self.cookie)
        }
        let cookie = try #require(message.edns?.cookie)
        #expect(cookie.client == hex("2464C4ABCF10C957"))
        #expect(cookie.server == hex("010000005CF79F111F8130C3EEE29480"))
        #expect(cookie.server == Self.cookie.octets)
        #expect(message.answers.count == 2)
    }

    @Test
    func `all options fit in one OPT record`() throws {
        let (_, message) = try Self.reply(addresses: 1) {
            $0.options.cookies = (1, Self.cookie)
            $0.options.keepalive = 200
            $0.explanation = Self.explanation
        }
        let edns = try #require(message.edns)
        #expect(
            edns.options == [
                .cookie(client: hex("0000000000000001"), server: Self.cookie.octets),
                .keepalive(timeout: 200),
                .extendedError(code: .noReachableAuthority, text: "tell why"),
            ]
        )
    }

    @Test
    func `a client without EDNS gets no options`() throws {
        let (octets, message) = try Self.reply(addresses: 1, opt: false) {
            $0.options.cookies = (1, Self.cookie)
            $0.options.keepalive = 200
            $0.explanation = Self.explanation
        }
        #expect(message.edns == nil)
        #expect(try octets == Self.reply(addresses: 1, opt: false).octets)
    }

    @Test(arguments: [
        ("all", 0, ["tell why"], false), ("an octet too much", 1, [""], false),
        ("as much as the text", 8, [""], false), ("part of the option", 9, [], false),
        ("all of the option", 14, [], false), ("more", 15, [], true),
    ])
    func `if space is scarce, first the EDE text is omitted, then the EDE, then the records`(
        _ label: String,
        _ missing: Int,
        _ texts: [String],
        _ isTruncated: Bool
    ) throws {
        let whole = try Self.reply(addresses: 40) { $0.explanation = Self.explanation }
        #expect(whole.message.edns?.extendedErrors.map(\.text) == ["tell why"])
        let (octets, message) = try Self.reply(addresses: 40) {
            $0.explanation = Self.explanation
            $0.limit = whole.octets.count - missing
        }
        #expect(message.header.isTruncated == isTruncated)
        #expect(message.answers.count == (isTruncated ? 0 : 40))
        if isTruncated {
            #expect(message.edns?.extendedErrors.map(\.text) == ["tell why"])
        } else {
            #expect(message.edns?.extendedErrors.map(\.text) == texts)
            #expect(octets.count <= whole.octets.count - missing)
        }
    }

    @Test
    func `cookies are never dropped to save space`() throws {
        func reply(_ limit: Int) throws -> (octets: [UInt8], message: Message) {
            try Self.reply(addresses: 40) {
                $0.options.cookies = (1, Self.cookie)
                $0.limit = limit
            }
        }
        let whole = try reply(1232)
        let fits = try reply(whole.octets.count)
        #expect(fits.octets == whole.octets)
        let cut = try reply(whole.octets.count - 1).message
        #expect(cut.header.isTruncated)
        #expect(cut.edns?.cookie?.server == Self.cookie.octets)
    }

    @Test
    func `a refusal explains its reason to clients with EDNS`() throws {
        for (query, codes) in [
            (RawQuery("EDNS") { $0.addOPT() }.octets, [ExtendedError.prohibited]),
            (RawQuery("plain").octets, []),
        ] {
            let facts = try QueryFacts(checking: query.rawSpan)
            var buffer = query + [UInt8](repeating: 0xEE, count: 512)
            let count = buffer.withMutableRawSpan { buffer in
                facts.reply(rcode: .refused, because: .prohibited, in: &buffer)
            }
            let message = try Message(parsing: Array(buffer[..<count]))
            #expect(message.rcode == .refused)
            #expect((message.edns?.extendedErrors ?? []).map(\.code) == codes)
            #expect((message.edns?.extendedErrors ?? []).allSatisfy { $0.text.isEmpty })
        }
    }
}
