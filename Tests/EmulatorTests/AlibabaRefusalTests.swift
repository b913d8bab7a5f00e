// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Alibaba: error codes and their HTTP status")
struct AlibabaRefusalTests {
    private static let six = "1.a.com,2.a.com,3.a.com,4.a.com,5.a.com,6.a.com"
    private static let long = String(repeating: "x", count: 1000)

    @Test(
        arguments: [
            ("/100000/d", 400, "MissingArgument"),
            ("/100000/d?host=", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&query=6,4", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&query=28", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&ip=1.2.3", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&host=www.a.com", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&sdns-=1", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&sdns-a=%26", 400, "MissingArgument"),
            ("/100000/d?host=www.a.com&sdns-a=" + long, 400, "MissingArgument"),
            ("/100000/sign_d?host=www.a.com&s=1", 400, "MissingArgument"),
            ("/100000/sign_d?host=www.a.com&t=1", 400, "MissingArgument"),
            ("/100000/d?host=www..com", 400, "InvalidHost"),
            ("/100000/d?host=_dns.a.com", 400, "InvalidHost"),
            ("/100000/resolve?host=www.a.com,", 400, "InvalidHost"),
            ("/100000/d?host=www.a.com,www.b.com", 400, "TooManyHosts"),
            ("/100000/resolve?host=" + six, 400, "LimitExceeded"),
            ("/100000/resolve?host=www.a.com,www.b.com&ip=::1,::2", 400, "LimitExceeded"),
            ("/100001/d?host=www.a.com", 403, "AccountNotExists"),
            ("/100000/sign_d?host=www.a.com&t=1700000600&s=0", 403, "InvalidSignature"),
            ("/100001/ss", 403, "AccountNotExists"),
            ("/100000/ss?region=moon", 400, "MissingArgument"),
            ("/100000/ss?sid=short", 400, "MissingArgument"),
            ("/100000/ss?n=abcdef2345&t=1632912372", 400, "MissingArgument"),
            ("/100000/ss?n=abc&t=1632912372&s=0", 400, "MissingArgument"),
            ("/100000/ss?n=abcdef2345&t=1632912372&s=0", 403, "InvalidSignature"),
            ("/v2/d", 400, "MissingArgument"),
            ("/v2/d?id=100000&dn=www.a.com", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=3&dn=www.a.com", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&v=2.0&dn=www.a.com", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&q=4", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&dn=www.a.com&exp=1700000600", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&dn=www.a.com&cip=::1,::2", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&dn=www.a.com&enc=00", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=1&dn=www.a.com", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=1&enc=000102030405060708090a0b0c0d0e0f", 400, "MissingArgument"),
            ("/v2/d?id=100000&m=0&dn=a%20b", 400, "InvalidHost"),
            ("/v2/d?id=100000&m=0&dn=" + six, 400, "TooManyHosts"),
            ("/v2/d?id=100001&m=0&dn=www.a.com", 403, "InvalidAccount"),
            ("/v2/d?id=100000&m=0&dn=www.a.com&exp=1700000600&s=0", 403, "InvalidSignature"),
        ]
    )
    func `an error has code and status`(_ path: String, _ status: Int, _ code: String) throws {
        let emulator = try RunningEmulator()
        let reply = try emulator.get(path)
        #expect(reply.status == status)
        #expect(reply.text == "{\"code\":\"\(code)\"}")
        #expect(try emulator.calls().channels == ["alibaba-refused": 1])
        #expect(try emulator.calls().lookups == (path.contains("/ss") ? 0 : 1))
    }

    @Test func `a signature of v2 expires, and is valid for at most a day`() throws {
        let emulator = try RunningEmulator(at: AlibabaVector.time)
        for (ahead, code) in [
            (1_000, "success"), (-1, "SignatureExpired"), (90_000, "InvalidDuration"),
        ] {
            let exp = AlibabaVector.time + ahead
            let content = "dn=www.a.com&exp=\(exp)&id=100000&m=0&q=4"
            let s = try OpenSSL.hmac(content, key: AlibabaVector.secret)
            let reply = try emulator.get("/v2/d?\(content)&s=\(s)")
            #expect(reply.text.hasPrefix("{\"code\":\"\(code)\""), "\(reply.text)")
        }
        let (content, s) = AlibabaVector.signed[0]
        #expect(try emulator.get("/v2/d?\(content)&s=\(s)").status == 200)
        let offset = AlibabaVector.time + 601 - Int(Date().timeIntervalSince1970)
        _ = try emulator.get("/_emulator/clock", "--data", String(offset))
        #expect(try emulator.get("/v2/d?\(content)&s=\(s)").text.contains("SignatureExpired"))
    }

    @Test func `options can require signatures and disable custom resolution`() throws {
        let emulator = try RunningEmulator("--require-signature")
        for path in [
            "/100000/d?host=www.a.com", "/100000/resolve?host=www.a.com",
            "/v2/d?id=100000&m=0&dn=www.a.com",
        ] {
            let reply = try emulator.get(path)
            #expect(reply.status == 403)
            #expect(reply.text == #"{"code":"UnsignedInterfaceDisabled"}"#)
        }
        #expect(try emulator.get("/100000/ss").status == 200)
        let overseas = try RunningEmulator("--no-sdns")
        let reply = try overseas.get("/v2/d?id=100000&m=0&dn=www.a.com&sdns-a=1")
        #expect(reply.status == 400)
        #expect(reply.text == #"{"code":"SdnsNotSupported"}"#)
    }

    @Test func `with an empty zone the account is invalid, and only GET is allowed`() throws {
        let nothing = try TemporaryFile("; nothing")
        let emulator = try RunningEmulator("--zone", nothing.path)
        let reply = try emulator.get("/v2/d?id=100000&m=0&dn=www.a.com")
        #expect(reply.status == 403)
        #expect(reply.text == #"{"code":"InvalidAccount"}"#)
        for path in ["/v2/d", "/100000/d", "/100000/ss"] {
            let posted = try emulator.get(path, "--data", "host=www.a.com")
            #expect(posted.status == 405)
            #expect(posted.text == #"{"code":"MethodNotAllowed"}"#)
        }
        for path in ["/v3/d", "/account/d", "/100000/d/", "/100000", "/100000/x"] {
            #expect(try emulator.get(path).status == 404)
        }
    }

    @Test(arguments: Alibaba.Code.allCases)
    func `a fault can cause each error code, with its HTTP status`(_ code: Alibaba.Code) throws {
        let emulator = try RunningEmulator("--fault", "error=\(code.rawValue):first:1")
        let reply = try emulator.get("/100000/d?host=www.a.com")
        #expect(reply.status == code.status)
        #expect(reply.text == "{\"code\":\"\(code.rawValue)\"}")
        #expect(try emulator.get("/100000/d?host=www.a.com").status == 200)
    }
}
