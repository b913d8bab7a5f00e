// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Tencent's replies (documents 379/95497 and 379/95498)")
struct TencentReplyTests {
    private func read(_ body: String, _ lookup: VendorQuery) throws -> [VendorAnswer] {
        try plainTencent().answers(to: lookup, in: ok(body))
    }

    private func readOne(
        _ body: String,
        _ families: Families = .both,
        name: String = "example.com"
    ) throws -> VendorAnswer {
        let answers = try read(body, lookup(name, families: families))
        #expect(answers.count == 1)
        return try #require(answers.first)
    }

    private func expect(_ set: AddressSet?, _ expected: ReplyCase.Expected?) throws {
        #expect((set == nil) == (expected == nil))
        guard let set, let expected else { return }
        #expect(set.addresses == (try expected.addresses.map { try address($0) }))
        #expect(set.ttl == expected.ttl)
    }

    @Test("documented replies are parsed", arguments: TencentReplies.documented)
    func documented(_ reply: ReplyCase) throws {
        let answer = try readOne(reply.body, reply.families, name: reply.name)
        try expect(answer.v4, reply.v4)
        try expect(answer.v6, reply.v6)
        #expect(answer.dropped == 0)
    }

    @Test(
        "the replies in the source code and tests of the SDKs are parsed",
        arguments: TencentReplies.fromTheKits
    )
    func fromTheKits(_ reply: ReplyCase) throws {
        let answer = try readOne(reply.body, reply.families, name: reply.name)
        try expect(answer.v4, reply.v4)
        try expect(answer.v6, reply.v6)
        #expect(answer.dropped == 0)
    }

    @Test("replies in unusual forms are accepted", arguments: TencentReplies.lenient)
    func lenient(_ reply: ReplyCase) throws {
        let answer = try readOne(reply.body, reply.families, name: reply.name)
        try expect(answer.v4, reply.v4)
        try expect(answer.v6, reply.v6)
    }

    @Test("the name in the answer has the letter case of the query")
    func nameAsAsked() throws {
        let answer = try readOne("example.com.:192.0.2.1,60-0", name: "Example.COM")
        #expect(answer.name.text == "Example.COM")
    }
}

extension TencentReplyTests {
    @Test("the answers to a batch have the order of the names in the request")
    func batch() throws {
        let body = try TencentVectors.reply("S6").plain
        let names = try lookup(
            "www.dnspod.cn",
            "cloud.tencent.com",
            "www.qq.com",
            families: .v4
        )
        let answers = try read(body, names)
        #expect(answers.map(\.name) == names.names)
        #expect(answers.map { $0.v4?.ttl } == [60, 120, 180])
        #expect(answers.allSatisfy { $0.v4?.addresses.count == 3 && $0.v6 == nil })
    }

    @Test("each line of a reply may have a client address")
    func clientOnEveryLine() throws {
        let answers = try read(
            "domain1.com:1.1.1.1,60|1.2.3.4\ndomain2.com:2.2.2.2,120|5.6.7.8",
            lookup("domain1.com", "domain2.com", families: .v4)
        )
        #expect(answers.map { $0.v4?.ttl } == [60, 120])
        #expect(
            answers.map { $0.v4?.addresses } == [
                [try address("1.1.1.1")], [try address("2.2.2.2")],
            ]
        )
    }

    @Test("a name that is missing in the reply gets an empty answer")
    func missing() throws {
        let answers = try read(
            "a.example.com.:192.0.2.1,60-0|1.2.3.4",
            lookup("a.example.com", "b.example.com")
        )
        #expect(answers[0].isEmpty == false)
        #expect(answers[1].isEmpty)
        #expect(answers[1].v4 == AddressSet.none)
        #expect(answers[1].v6 == AddressSet.none)
    }

    @Test("an invalid record does not affect the other records of a batch")
    func garbled() throws {
        let answers = try read(
            "a.example.com.:192.0.2.1,60-0\nb.example.com.:what,60-is this",
            lookup("a.example.com", "b.example.com")
        )
        #expect(answers[0].v4?.addresses == [try address("192.0.2.1")])
        #expect(answers[1] == VendorAnswer(name: try Name("b.example.com")))
    }

    @Test("in the reply to a batch, a record without a name is ignored")
    func unnamed() throws {
        #expect(throws: VendorError.unreadable(.noRecord)) {
            try read("192.0.2.1,60-0", lookup("a.example.com", "b.example.com"))
        }
    }

    @Test("a record for a name that was not requested makes the reply invalid")
    func otherName() throws {
        #expect(throws: VendorError.wrongName) {
            try read(
                "a.example.com.:192.0.2.1,60-0\nc.example.com.:192.0.2.3,60-0",
                lookup("a.example.com", "b.example.com")
            )
        }
    }
}

extension TencentReplyTests {
    @Test(
        "a reply with another name than the requested name is an error",
        arguments: [
            "www.example.com.:192.0.2.1,60-0", "com.:192.0.2.1,60-0", "example.com..:192.0.2.1",
            "example-com:192.0.2.1,60-0", "1-2.example.com:192.0.2.1,60-0", "dead-beef:192.0.2.1",
        ]
    )
    func wrongName(body: String) {
        #expect(throws: VendorError.wrongName) { try readOne(body) }
    }

    @Test(
        "text without any record is unreadable",
        arguments: [
            "invalid_format", "invalid_ip,60", "<html><body>Log in: here</body></html>",
            #"{"code":"InvalidAccount"}"#, "example.com.:what", "example.com.:1.1.1.1,3.5",
            "example.com.:1.1.1.1,-5", "example.com.:1.1.1.1,99999999999", "1.1.1.1,60,60",
            "1.2.3", "01.1.1.1", "1.1.1.1 ;", "fe80::1%eth0", "1.1.1.1|2.2.2.2|3.3.3.3",
        ]
    )
    func unreadable(body: String) {
        #expect(throws: VendorError.unreadable(.noRecord)) { try readOne(body, .v4) }
    }

    @Test("a reply with only a client address is an empty answer")
    func clientAddressOnly() throws {
        #expect(try readOne("|192.0.2.99").isEmpty)
    }

    @Test("text that is not UTF-8 is unreadable")
    func notUTF8() throws {
        let reply = HTTPReply(status: 200, body: [0xFF, 0xFE, 0x80, 0x3A, 0xC3])
        #expect(throws: VendorError.unreadable(.noRecord)) {
            try plainTencent().answers(to: lookup("example.com"), in: reply)
        }
    }

    @Test("invalid UTF-8 in the client's address is ignored")
    func notUTF8ClientAddress() throws {
        let body = [UInt8]("example.com.:192.0.2.1,60-0|".utf8) + [0xFF, 0xC0]
        let reply = HTTPReply(status: 200, body: body)
        let answers = try plainTencent().answers(to: lookup("example.com"), in: reply)
        #expect(answers[0].v4?.addresses == [try address("192.0.2.1")])
    }

    @Test("if one address of a list is invalid, only this address is dropped")
    func oneBad() throws {
        let answer = try readOne("192.0.2.1;oops;2001:db8::1;192.0.2.2,60-0")
        #expect(answer.v4?.addresses == [try address("192.0.2.1"), try address("192.0.2.2")])
        #expect(answer.v4?.dropped == 2)
        #expect(answer.dropped == 2)
    }

    @Test(
        "addresses that no server can have are dropped and counted",
        arguments: [
            "0.0.0.0", "127.0.0.1", "127.9.9.9", "224.0.0.1", "239.255.255.250", "169.254.1.1",
            "255.255.255.255",
        ]
    )
    func unusableV4(text: String) throws {
        let alone = try readOne("\(text),30-0|1.2.3.4")
        #expect(alone.isEmpty)
        #expect(alone.v4?.dropped == 1)
        let among = try readOne("192.0.2.1;\(text),30-0|1.2.3.4")
        #expect(among.v4?.addresses == [try address("192.0.2.1")])
        #expect(among.v4?.dropped == 1)
    }

    @Test(
        "IPv6 addresses that no server can have are dropped and counted",
        arguments: ["::", "::1", "ff02::1", "fe80::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0"]
    )
    func unusableV6(text: String) throws {
        let answer = try readOne("0-2001:db8::1;\(text),30|1.2.3.4")
        #expect(answer.v6?.addresses == [try address("2001:db8::1")])
        #expect(answer.v6?.dropped == 1)
    }

    @Test("private addresses are kept", arguments: ["10.0.0.1", "192.168.1.1"])
    func privateAddresses(text: String) throws {
        let answer = try readOne("\(text),30-fd00::1,30|1.2.3.4")
        #expect(answer.v4?.addresses == [try address(text)])
        #expect(answer.v6?.addresses == [try address("fd00::1")])
    }

    @Test("at most 256 addresses per family are kept")
    func manyAddresses() throws {
        let list = (1...300).map { "192.0.\($0 / 256).\($0 % 256)" }.joined(separator: ";")
        let answer = try readOne("\(list),60-0")
        #expect(answer.v4?.addresses.count == VendorLimits.maximumAddresses)
        #expect(answer.v4?.addresses.first == (try address("192.0.0.1")))
        #expect(answer.v4?.dropped == 44)
    }

    @Test(
        "a TTL is limited to 31 bits",
        arguments: [
            ("0", 0), ("2147483647", 2_147_483_647), ("2147483648", 2_147_483_647),
            ("4294967295", 2_147_483_647), ("9999999999", 2_147_483_647), ("", 60),
        ] as [(String, UInt32)]
    )
    func ttl(text: String, expected: UInt32) throws {
        #expect(try readOne("192.0.2.1,\(text)", .v4).v4?.ttl == expected)
    }
}
