// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import HTTPDNS

@Suite("Alibaba's scheduling service (document 111585)")
struct AlibabaScheduleTests {
    private func read(_ body: String, from scheduler: String = "203.107.1.1:80") throws
        -> ServiceAddresses
    {
        try alibaba().servers(in: ok(body), from: try server(scheduler))
    }

    @Test("the signature is MD5, as in the vendor's example")
    func signature() throws {
        #expect(
            try Digest.md5("abcdef2345", Secret("123456"), "1632912372")
                == "de7be63a9f19cf11e9d455d7d4f23cb4"
        )
        #expect(
            try Digest.md5("0a1b2c3d4e5f6071", Secret("IAmASecret"), "1700000000")
                == "e63abc7e639f967fc78dda77c07d062e"
        )
    }

    @Test("a signed request expires after one minute")
    func request() throws {
        let request = try alibaba().scheduleRequest(
            at: server("203.107.1.1:80"),
            now: 1_700_000_000,
            entropy: entropy([0x0A, 0x1B, 0x2C, 0x3D, 0x4E, 0x5F, 0x60, 0x71])
        )
        let signature = try Digest.md5(
            "0a1b2c3d4e5f6071",
            Secret(AlibabaVectors.secret),
            "1700000060"
        )
        #expect(
            request.url
                == "http://203.107.1.1/100000/ss?region=cn&platform=linux&n=0a1b2c3d4e5f6071"
                + "&t=1700000060&s=\(signature)"
        )
        let unsigned = try Alibaba(account: "1", region: .sg).scheduleRequest(
            at: server("[2001:db8::1]:443"),
            now: 0,
            entropy: .system
        )
        #expect(
            unsigned.url
                == "https://resolvers.httpdns.aliyuncs.com/1/ss?region=sg&platform=linux"
        )
    }

    @Test("servers of both families are returned, IPv4 first")
    func servers() throws {
        let told = try read(
            #"{"service_ipv6":["2401:b180:2000:20::10"],"service_ip":["203.107.1.97","203.107.1.98"]}"#
        )
        #expect(told.validFor == nil)
        #expect(
            told.servers.map(\.description) == [
                "203.107.1.97:80", "203.107.1.98:80", "[2401:b180:2000:20::10]:80",
            ]
        )
    }

    @Test(
        "over HTTP, a server may have only the default port or the port of the scheduling service"
    )
    func unprotectedPorts() throws {
        let body = #"""
            {"service_ip":["203.107.1.97","203.107.1.98","203.107.1.99"],
            "service_ip_port":[80,8080,22]}
            """#
        #expect(try read(body).servers.map(\.description) == ["203.107.1.97:80"])
        let own = try read(body, from: "203.107.1.1:8080")
        #expect(own.servers.map(\.description) == ["203.107.1.97:80", "203.107.1.98:8080"])
    }

    @Test("over HTTPS, a server may have any port")
    func ports() throws {
        let read = { (body: String) in
            let scheduler = try server("203.107.1.1:443")
            return try Alibaba(account: "1").servers(in: ok(body), from: scheduler)
        }
        let told = try read(
            #"""
            {"service_status":"enable","service_ip":["203.107.1.97","203.107.1.98"],
            "service_ip_port":[8080,0],"service_ipv6":["2001:db8::1"],"service_ipv6_port":[65536]}
            """#
        )
        #expect(told.servers.map(\.description) == ["203.107.1.97:8080"])
        #expect(throws: VendorError.unreadable(.member("service_ip_port"))) {
            try read(#"{"service_ip":["203.107.1.97","203.107.1.98"],"service_ip_port":[80]}"#)
        }
    }

    @Test(
        "unusable addresses and invalid text in the list of servers are ignored",
        arguments: [
            #""0.0.0.0""#, #""127.0.0.1""#, #""224.0.0.1""#, #""::1""#, #""x""#, "1", "null",
            #""203.107.1.1:80""#, #""2001:db8::1""#,
        ]
    )
    func badServers(item: String) throws {
        let told = try read(#"{"service_ip":[\#(item),"203.107.1.97"]}"#)
        #expect(told.servers.map(\.description) == ["203.107.1.97:80"])
        #expect(throws: VendorError.unreadable(.member("service_ip"))) {
            try read(#"{"service_ip":[\#(item)]}"#)
        }
    }

    @Test("a scheduling service with a local address may return local servers")
    func local() throws {
        let told = try read(#"{"service_ip":["127.0.0.2"]}"#, from: "127.0.0.1:80")
        #expect(told.servers.map(\.description) == ["127.0.0.2:80"])
    }

    @Test("at most 16 list entries of each family are read")
    func many() throws {
        let list = (0..<100).map { #""203.107.1.\#($0 / 2 + 1)""# }.joined(separator: ",")
        #expect(try read(#"{"service_ip":[\#(list)]}"#).servers.count == 8)
    }

    @Test("`service_status: disable` counts as a refusal of the account")
    func disabled() {
        #expect(throws: VendorError.unauthorized(status: 200, code: .disable)) {
            try read(#"{"service_status":"disable","service_ip":["203.107.1.97"]}"#)
        }
    }

    @Test(
        "a reply without servers or without JSON is unreadable",
        arguments: ["{}", "", "[]", #"{"service_ip":1}"#]
    )
    func unreadable(body: String) throws {
        let error = try #require(throws: VendorError.self) { try read(body) }
        #expect(error.kind == .unreadable)
    }
}
