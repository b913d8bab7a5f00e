// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Answers to dig", .needs(.dig, .nsd, .curl), .hangLimit)
struct AnswerTests {
    @Test(
        "A and AAAA over UDP and TCP cost one vendor call in total",
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

    @Test("the answer repeats the client's spelling of the name")
    func spelling() throws {
        let harness = try ProgramHarness()
        for name in ["wWw.ExAmPlE.cOm.", "WWW.example.COM.", "www.example.com."] {
            let reply = try harness.daemon.dig(name, "A")
            #expect(reply.question == name)
            #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"])
        }
        #expect(try harness.emulator.lookups() == 1)
        try harness.daemon.stop()
    }

    @Test("other types and names come from the upstream unchanged")
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

    @Test("40 addresses are truncated over UDP and complete over TCP", arguments: [true, false])
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

    @Test("TXT records over 4,096 octets arrive complete")
    func big() throws {
        let harness = try ProgramHarness()
        let reply = try harness.daemon.dig("big.example.org", "TXT", "+bufsize=4096")
        #expect(reply.status == "NOERROR", "\(reply.text)")
        #expect(reply.transport == "TCP")
        let isWhole = reply.data("TXT") == TestUpstream.big.map { "\"\($0)\"" }.sorted()
        #expect(isWhole, "\(reply.answers.count) answers")
        let stats = try harness.daemon.stats()
        #expect(stats["upstreams"].array.first?["tcp-retries"].int == 1)
        try harness.daemon.stop()
    }

    @Test("denials have an SOA, also from the cache")
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

    @Test("if the vendor has no address, the upstream answers")
    func empty() throws {
        let harness = try ProgramHarness()
        var reply = try harness.daemon.dig("upstream.example.com", "A")
        #expect(reply.data("A") == ["198.51.100.98"])
        reply = try harness.daemon.dig("upstream.example.com", "AAAA")
        #expect(reply.status == "NOERROR" && reply.answers.isEmpty)
        reply = try harness.daemon.dig("nowhere.example.com", "A")
        #expect(reply.status == "NXDOMAIN")
        #expect(try harness.emulator.calls()["names", "upstream.example.com"].int == 1)
        try harness.daemon.stop()
    }

    @Test("a cached answer has the remaining TTL")
    func ageing() throws {
        let harness = try ProgramHarness()
        let first = try harness.daemon.dig("four.example.com", "A")
        let entry = try #require(try harness.daemon.cached("four.example.com", "A").first)
        let second = try harness.daemon.dig("four.example.com", "A")
        let age = try #require(entry["age-seconds"].int)
        let left = try #require(entry["ttl-seconds"].int)
        #expect(first.answers.map(\.ttl) == [120])
        #expect(left <= 120 && left >= 120 - age - 1)
        let told = try #require(second.answers.first?.ttl)
        #expect(told <= left && told > 110)
        try harness.daemon.stop()
    }

    @Test("special names and unsupported queries are answered locally")
    func special() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: recorder, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
        )
        #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        #expect(try daemon.dig("a.localhost", "AAAA").data("AAAA") == ["::1"])
        for (name, type) in [
            ("name.invalid", "A"), ("name.test", "TXT"), ("name.onion", "A"), ("name.local", "A"),
            ("host", "A"), ("host", "AAAA"), ("1.1.168.192.in-addr.arpa", "PTR"),
            ("1.0.16.172.in-addr.arpa", "PTR"), ("1.0.0.10.in-addr.arpa", "PTR"),
            ("1.d.f.ip6.arpa", "NS"), ("name.home.arpa", "A"),
        ] {
            let reply = try daemon.dig(name, type)
            #expect(reply.status == "NXDOMAIN", "\(name): \(reply.text)")
            #expect(reply.authorities.map(\.type) == ["SOA"], "\(name)")
        }
        let any = try daemon.dig("www.example.org", "ANY", "+notcp")
        #expect(any.answers.map(\.type) == ["HINFO"], "\(any.text)")
        #expect(try daemon.dig("version.bind", "TXT", "CH").status == "REFUSED")
        #expect(try daemon.dig("www.example.org", "AXFR").answers.isEmpty)
        #expect(upstream.isSilent)

        let client = try Socket(.datagram, to: daemon.port)
        try client.send(RawMessage.query("www.example.org"))
        _ = try upstream.serveOne { query in RawMessage.denial(of: query) }
        #expect(RawMessage.rcode(try client.receive()) == 3)
        try daemon.stop()
    }
}

extension VendorText.Channel {
    fileprivate var callName: String { self == .https ? "token" : rawValue }
}
