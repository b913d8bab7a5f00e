// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

@Suite("Tencent's service addresses (document 379/116336)")
struct TencentScheduleTests {
    private func read(
        _ body: String,
        from scheduler: String = "192.0.2.89:443"
    ) throws -> ServiceAddresses {
        try plainTencent().servers(in: ok(body), from: server(scheduler))
    }

    @Test("the request to the scheduling service identifies the account, in every channel")
    func requests() throws {
        let url = { (vendor: Tencent) in
            try vendor.scheduleRequest(at: try server("192.0.2.1:80"), now: 0, entropy: .system).url
        }
        #expect(try url(sealedTencent(.des)) == "http://192.0.2.1/conf?id=12345&alg=des")
        #expect(try url(sealedTencent(.aes)) == "http://192.0.2.1/conf?id=12345&alg=aes")
        #expect(try url(plainTencent()) == "https://192.0.2.1:80/conf?token=987654321")
    }

    @Test("the documented replies are parsed", arguments: [Tencent.Channel.des, .aes])
    func sealed(channel: Tencent.Channel) throws {
        let vector = try TencentVectors.reply("S11")
        let told = try sealedTencent(channel).servers(
            in: ok(channel == .aes ? vector.aes : vector.des),
            from: server("119.29.29.88:80")
        )
        #expect(told.servers.map(\.description) == ["119.29.29.98:80", "119.28.28.98:80"])
        #expect(told.validFor == .seconds(3600))
    }

    @Test("the listed servers get the port of the scheduling service")
    func https() throws {
        let told = try read(
            "log:0|domain:0|ip:119.29.29.99;119.28.28.99|ttl:60\r\n",
            from: "119.29.29.89:443"
        )
        #expect(told.servers.map(\.description) == ["119.29.29.99:443", "119.28.28.99:443"])
    }

    @Test(
        "the TTL is a number of minutes from 1 to 1440, possibly with a fraction",
        arguments: [
            ("|ttl:1", 60), ("|ttl:3.5", 210), ("|ttl:1440", 86_400), ("", 3600),
            ("|ttl:1441", nil), ("|ttl:0", nil), ("|ttl:-5", nil), ("|ttl:1e3", nil),
            ("|ttl:nan", nil), ("|ttl:", nil), ("|ttl:99999999999", nil),
        ] as [(String, Int?)]
    )
    func ttl(field: String, seconds: Int?) throws {
        let told = try read("log:1|domain:0|ip:192.0.2.1;\(field)")
        #expect(told.servers.count == 1)
        #expect(told.validFor == seconds.map { .seconds($0) })
    }

    @Test("invalid, unusable and IPv6 addresses in the list of servers are ignored")
    func addresses() throws {
        let told = try read("ip:0.0.0.0;127.0.0.1;x;2001:db8::1;192.0.2.1;192.0.2.1;|ttl:5")
        #expect(told.servers.map(\.description) == ["192.0.2.1:443"])
    }

    @Test(
        "a listed server must have the scope (local or global) of the server that lists it",
        arguments: [
            ("119.29.29.89:443", "119.29.29.99"), ("127.0.0.1:8053", "127.0.0.2"),
            ("10.0.0.1:443", "192.168.1.1"), ("172.16.0.1:443", "192.168.1.1"),
            ("192.0.2.89:443", "198.51.100.1"),
        ]
    )
    func scope(scheduler: String, own: String) throws {
        let all = [
            "119.29.29.99", "127.0.0.2", "192.168.1.1", "198.51.100.1", "169.254.1.1", "224.0.0.1",
            "240.0.0.1",
        ]
        let told = try read("ip:\(all.joined(separator: ";"))|ttl:5", from: scheduler)
        let port = try server(scheduler).port
        #expect(told.servers.map(\.description) == ["\(own):\(port)"])
    }

    @Test(
        "a reply without servers is unreadable",
        arguments: ["", "log:0|domain:1", "ip:", "ip:0.0.0.0", "<html>", "ip", "|||", ":::"]
    )
    func unreadable(body: String) {
        #expect(throws: VendorError.unreadable(.noRecord)) { try read(body) }
    }

    @Test("at most 32 servers of a list are used")
    func many() throws {
        let list = (0..<200).map { "192.0.2.\($0 + 1)" }.joined(separator: ";")
        #expect(try read("ip:\(list)|ttl:5").servers.count == VendorLimits.maximumServers)
    }

    @Test("a wrong key, a wrong status and a wrong body are different errors")
    func errors() throws {
        let vendor = try sealedTencent(.aes)
        #expect(throws: VendorError.unreadable(.notHexadecimal)) {
            try vendor.servers(in: ok("ip:192.0.2.1"), from: server())
        }
        #expect(throws: VendorError.undecryptable) {
            try vendor.servers(in: ok(String(repeating: "00", count: 32)), from: server())
        }
        #expect(throws: VendorError.unauthorized(status: 401)) {
            try vendor.servers(in: HTTPReply(401, ""), from: server())
        }
    }

    @Test("a batch has at most eight names")
    func batch() throws {
        let facts = try plainTencent().facts
        #expect(facts.maximumNames == 8)
    }
}
