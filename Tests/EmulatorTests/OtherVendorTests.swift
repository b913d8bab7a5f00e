// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Baidu Cloud HTTPDNS (document Vjwvxm96x)")
struct BaiduTests {
    /// Request that was signed with Python's hashlib.
    static let example =
        "/v4/resolve?account_id=107080&dn=www.a.com&t=9999999999"
        + "&sign=951b98d0c990c944fdc7ac2eb0f72f12"

    static func url(_ names: String, _ more: String = "") throws -> String {
        let sign = try OpenSSL.md5("\(names)-1234567890-9999999999")
        return "/v4/resolve?account_id=107080&dn=\(names)&t=9999999999&sign=\(sign)" + more
    }

    @Test func `the published signature is accepted until it expires`() throws {
        let path =
            "/v4/resolve?account_id=107080&dn=www.baidu.com&t=1513602734"
            + "&sign=9d4eac35c33b8fa1610476ff1532643d"
        let emulator = try RunningEmulator(at: 1_513_602_000)
        let text = try emulator.get(path + "&ip=1.2.3.4").text
        let expected =
            #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.30"],"ttl":300,"#
            + #""msg":"ok"}}},"clientip":"1.2.3.4","timestamp":15136020"#
        #expect(text.hasPrefix(expected), "\(text)")
        #expect(try emulator.calls().channels == ["baidu": 1])
        let late = try RunningEmulator().get(path)
        #expect(late.status == 200)
        #expect(late.text == #"{"msg":"sign expired"}"#)
    }

    @Test func `a batch reply has an entry per registered name, with both families`() throws {
        let emulator = try RunningEmulator()
        let names = "www.baidu.com,x.example,four.example.com"
        let text = try emulator.get(Self.url(names, "&type=dual_stack&alt_server_ip=true")).text
        #expect(
            text.hasPrefix(
                #"{"msg":"ok","data":{"www.baidu.com":{"ipv4":{"ip":["192.0.2.30"],"ttl":300,"#
                    + #""msg":"ok"},"ipv6":{"ip":["2001:db8::30"],"ttl":300,"msg":"ok"}},"#
                    + #""four.example.com":{"ipv4":{"ip":["192.0.2.4"],"ttl":60,"msg":"ok"},"#
                    + #""ipv6":{"ip":[],"ttl":0,"msg":"ok"}}},"clientip":"127.0.0.1""#
            ),
            "\(text)"
        )
        #expect(text.hasSuffix(#""serverip":{"ipv4":["180.76.76.200"],"ipv6":[]}}"#))
        #expect(try emulator.calls().names.count == 3)
    }

    @Test(
        arguments: [
            ("", "param error"),
            ("account_id=107080&t=9999999999&sign=0", "param error"),
            ("account_id=107080&dn=a.com&tag=x&t=9999999999&sign=0", "param error"),
            ("account_id=107080&dn=a.com&t=1&sign=0", "param error"),
            ("account_id=1&dn=a.com&t=9999999999&sign=0", "account error"),
            ("account_id=107080&dn=a.com&t=9999999999&sign=0", "sign error"),
        ]
    )
    func `an invalid request gets an error message`(_ query: String, _ message: String) throws {
        let emulator = try RunningEmulator()
        #expect(try emulator.get("/v4/resolve?" + query).text == "{\"msg\":\"\(message)\"}")
        #expect(try emulator.calls().channels == ["baidu-refused": 1])
    }

    @Test func `an invalid signed request gets an error message`() throws {
        let emulator = try RunningEmulator()
        let eleven = (0...10).map { "\($0).a.com" }.joined(separator: ",")
        for path in try [
            Self.url(eleven), Self.url("a..com"), Self.url("a.com", "&type=AAAA"),
            Self.url("a.com", "&ip=x"), Self.url("a.com", "&detail=1"),
        ] { #expect(try emulator.get(path).text == #"{"msg":"param error"}"#) }
        let tagged = try Self.url("mine").replacing("&dn=", with: "&tag=")
        #expect(try emulator.get(tagged).text == #"{"msg":"tag not found"}"#)
        #expect(try emulator.get(Self.url("a.com"), "--request", "PUT").status == 405)
    }
}

@Suite("Volcengine HTTPDNS (documents 6758/113991, 174756 and 174757)")
struct VolcengineTests {
    /// Request that was signed with Python's hashlib.
    static let example =
        "/resolve?account_id=1023&domain=www.a.com&timestamp=9999999999999"
        + "&sign=46526e7816b88d56e538627c3fabd9a0"

    static func url(
        _ names: String,
        ip: String = "",
        type: String = "",
        id: String = "1023",
        timestamp: String = "9999999999999"
    ) throws -> String {
        let parts = [id, timestamp, "QlgAuFMwNUwN", names, ip, type].sorted()
        let sign = try OpenSSL.md5(parts.joined(separator: "_"))
        return "/resolve?domain=\(names)&account_id=\(id)&timestamp=\(timestamp)&sign=\(sign)"
            + (ip.isEmpty ? "" : "&ip=" + ip) + (type.isEmpty ? "" : "&type=" + type)
    }

    static let a =
        #"{"cip":"127.0.0.1","host":"www.a.com","ips":["2001:db8::40","192.0.2.40"],"ttl":52}"#

    @Test func `the published signature is accepted until it expires`() throws {
        let path =
            "/resolve?account_id=1023&domain=www.a.com,www.b.com&timestamp=1566808387000"
            + "&sign=4b00a808d49a334991b7e50d324a9287"
        let emulator = try RunningEmulator(at: 1_566_808_000)
        let b = #"{"cip":"127.0.0.1","host":"www.b.com","ips":["192.0.2.41"],"ttl":60}"#
        #expect(try emulator.get(path + "&appid=7").text == "[\(Self.a),\(b)]")
        #expect(try emulator.calls().channels == ["volcengine": 1])
        let late = try RunningEmulator().get(path)
        #expect(late.status == 403)
        #expect(late.body.isEmpty)
    }

    @Test func `a single name gets one object with the requested families`() throws {
        let emulator = try RunningEmulator()
        #expect(try emulator.get(Self.url("www.a.com")).text == Self.a)
        #expect(
            try emulator.get(Self.url("www.a.com", ip: "1.2.3.4", type: "A")).text
                == #"{"cip":"1.2.3.4","host":"www.a.com","ips":["192.0.2.40"],"ttl":52}"#
        )
        #expect(try emulator.get(Self.url("www.b.com", type: "AAAA")).text.contains(#""ips":[]"#))
        #expect(try emulator.get(Self.url("x.example")).text.contains(#""ips":[]"#))
    }

    @Test func `an invalid request gets status 403, a wrong method status 405`() throws {
        let emulator = try RunningEmulator()
        let eleven = (0...10).map { "\($0).a.com" }.joined(separator: ",")
        for path in try [
            "/resolve?account_id=1023", "/resolve?domain=www.a.com",
            "/resolve?domain=www.a.com&account_id=1023&timestamp=9999999999999&sign=0",
            Self.url("www.a.com") + "&type=A", Self.url("www.a.com", id: "1024"),
            Self.url("www.a.com", timestamp: "1566808387000"), Self.url("www.a.com", type: "1"),
            Self.url("www.a.com", ip: "x"), Self.url("a..com"), Self.url(eleven),
        ] { #expect(try emulator.get(path).status == 403, "\(path)") }
        #expect(try emulator.get(Self.url("www.a.com"), "--request", "PUT").status == 405)
        #expect(try emulator.calls().channels == ["volcengine-refused": 11])
    }
}
