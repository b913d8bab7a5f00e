// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Answers to dig", .needs(.dig, .nsd, .curl), .hangLimit)
struct AnswerTests {
    @Test(
        "A and AAAA queries over UDP and TCP cause only one vendor call in total",
        .needs(.nginx, .openssl),
        arguments: VendorText.Channel.allCases
    )
    func oneCall(channel: VendorText.Channel) throws {
        let harness = try ProgramHarness(channel)
        let daemon = harness.daemon
        for transport in ["+notcp", "+tcp"] {
            let four = try daemon.dig("www.example.com", "A", transport)
            #expect(four.status == "NOERROR", "\(four.text)")
            #expect(four.data("A") == ["192.0.2.1", "192.0.2.2"])
            #expect(four.answers.allSatisfy { $0.ttl <= 300 && $0.ttl > 240 })
            #expect(four.transport == (transport == "+tcp" ? "TCP" : "UDP"))
            #expect(four.flags.contains("ra") && !four.flags.contains("ad"))
            let six = try daemon.dig("www.example.com", "AAAA", transport)
            #expect(six.data("AAAA") == ["2001:db8::1"], "\(six.text)")
        }
        let calls = try harness.emulator.calls()
        #expect(calls["lookups"].int == 1)
        #expect(calls["channels", "tencent-\(channel.callName)"].int == 1, "\(calls)")
        let stats = try daemon.stats()
        #expect(stats["vendors"].array.first?["billable-calls"].int == 1)
        #expect(stats["queries", "by-source", "cache"].int == 3)
        try daemon.stop()
    }

    @Test(
        "for types and names without a vendor, the client gets the upstream's answer unchanged"
    )
    func forwarded() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        var reply = try daemon.dig("example.com", "MX")
        #expect(reply.data("MX") == ["10 mail.example.com.", "20 mail.example.org."])
        reply = try daemon.dig("www.example.com", "TXT")
        #expect(reply.data("TXT") == ["\"from the upstream\""])
        reply = try daemon.dig("text.example.org", "TXT")
        #expect(reply.data("TXT") == ["\"first\" \"second; \\\"quoted\\\"\""], "\(reply.text)")
        reply = try daemon.dig("unknown.example.org", "TYPE65280")
        #expect(reply.data("TYPE65280") == ["\\# 4 DEADBEEF"])
        reply = try daemon.dig("_sip._tcp.example.org", "SRV")
        #expect(reply.data("SRV") == ["1 2 5060 mail.example.org."])
        for attempt in ["miss", "hit"] {
            reply = try daemon.dig("one.example.org", "A")
            #expect(
                reply.answers.map { "\($0.name) \($0.type) \($0.data)" } == [
                    "one.example.org. CNAME two.example.org.",
                    "two.example.org. CNAME three.example.org.",
                    "three.example.org. A 198.51.100.3",
                ],
                "\(attempt)"
            )
        }
        #expect(try harness.emulator.lookups() == 0)
        try daemon.stop()
    }

    @Test(
        "an answer with 40 addresses is truncated over UDP and complete over TCP",
        arguments: [true, false]
    )
    func truncation(isMiss: Bool) throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        if !isMiss { _ = try daemon.dig("forty.example.org", "A", "+tcp") }
        let cut = try daemon.dig("forty.example.org", "A", "+noedns", "+ignore")
        #expect(cut.flags.contains("tc") && cut.answers.isEmpty, "\(cut.text)")
        let whole = try daemon.dig("forty.example.org", "A", "+noedns")
        #expect(whole.transport == "TCP" && whole.data("A") == TestUpstream.forty.sorted())
        let roomy = try daemon.dig("forty.example.org", "A", "+bufsize=1232")
        #expect(roomy.transport == "UDP" && roomy.data("A") == TestUpstream.forty.sorted())
        #expect(try daemon.stats()["packets", "truncated-replies"].int == 2)
        try daemon.stop()
    }

    @Test("NXDOMAIN and NODATA replies have an SOA record, also from the cache")
    func denials() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        for attempt in ["miss", "hit"] {
            var reply = try daemon.dig("nowhere.example.org", "A")
            #expect(reply.status == "NXDOMAIN", "\(attempt)")
            #expect(reply.authorities.map(\.type) == ["SOA"], "\(attempt)")
            #expect(reply.authorities.allSatisfy { $0.name == "example.org." && $0.ttl <= 60 })
            reply = try daemon.dig("mail.example.org", "AAAA")
            #expect(reply.status == "NOERROR" && reply.answers.isEmpty, "\(attempt)")
            #expect(reply.authorities.map(\.type) == ["SOA"], "\(attempt)")
            reply = try daemon.dig("four.example.com", "AAAA")
            #expect(reply.status == "NOERROR" && reply.answers.isEmpty, "\(attempt)")
            #expect(reply.authorities.map(\.type) == ["SOA"], "\(attempt)")
        }
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try harness.emulator.lookups() == 1)
        try daemon.stop()
    }
}

extension VendorText.Channel {
    fileprivate var callName: String { self == .https ? "token" : rawValue }
}
