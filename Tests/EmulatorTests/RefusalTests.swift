// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

@Suite("Tencent: rejected requests (document 379/54976), and undocumented cases")
struct RefusalTests {
    @Test func `a wrong path gets 404, a wrong method 501`() throws {
        let emulator = try RunningEmulator()
        #expect(try emulator.get("/").status == 404)
        #expect(try emulator.get("/d/?dn=www.qq.com&token=987654321").status == 404)
        #expect(try emulator.ask("www.qq.com", "", "--request", "PUT").status == 501)
        #expect(try emulator.ask("www.qq.com", "", "--head").status == 501)
    }

    @Test(
        arguments: [
            "dn=www.qq.com",
            "dn=www.qq.com&token=1",
            "dn=www.qq.com&token=987654321&id=54321",
            "dn=a2135dd5db6f47d1474b0f976a2ac70f&id=54321&alg=des",
            "dn=a2135dd5db6f47d1474b0f976a2ac70f&alg=des",
            "dn=www.qq.com;1&token=987654321",
        ]
    )
    func `a wrong account gets the configured status`(_ query: String) throws {
        let strict = try RunningEmulator()
        #expect(try strict.get("/d?" + query).status == 401)
        let other = try RunningEmulator("--refusal", "403")
        #expect(try other.get("/d?" + query).status == 403)
        #expect(try strict.calls().channels == ["tencent-refused": 1])
    }

    @Test(
        arguments: [
            "token=987654321",
            "dn=&token=987654321",
            "dn=www.qq.com&token=987654321&alg=des",
            "dn=www.qq.com&id=12345&alg=rsa",
            "dn=www.qq.com&id=12345&alg=token",
            "dn=www.qq.com&id=12345&alg=des",
            "dn=a2135dd5db6f47d1474b0f976a2ac70&id=12345&alg=des",
            "dn=87ae992c1321f299da3c0210a9900ae7&id=12345&alg=des",
            "dn=000102030405060708090a0b0c0d0e0f&id=12345&alg=aes",
            "dn=www.qq.com&token=987654321&type=A",
            "dn=www.qq.com&token=987654321&type=Aaaa",
            "dn=www.qq.com&token=987654321&ttl=2",
            "dn=www.qq.com&token=987654321&timeout=999",
            "dn=www.qq.com&token=987654321&ip=1.2.3",
            "dn=www.qq.com&dn=www.qq.com&token=987654321",
            "dn=www.qq.com,,www.qq.com&token=987654321",
            "dn=www.qq.com;soon&token=987654321",
            "dn=w%FFw.qq.com&token=987654321",
            "dn=www+qq.com&token=987654321",
            "dn=1.qq.com,2.qq.com,3.qq.com,4.qq.com,5.qq.com,6.qq.com,7.qq.com,8.qq.com,"
                + "www.qq.com&token=987654321",
        ]
    )
    func `an invalid request gets 200 without content`(_ query: String) throws {
        let emulator = try RunningEmulator()
        let reply = try emulator.get("/d?" + query)
        #expect(reply.status == 200)
        #expect(reply.body.isEmpty)
    }

    @Test func `eight names, a final dot, capitals and escapes are accepted`() throws {
        let emulator = try RunningEmulator()
        let eight = (1...7).map { "\($0).example," }.joined() + "four.example.com"
        #expect(try emulator.ask(eight).text == "four.example.com.:192.0.2.4")
        #expect(try emulator.ask("Four.EXAMPLE.com.").text == "192.0.2.4")
        #expect(try emulator.ask("four.example.com%2Cnone.example.com").body.count > 9)
        #expect(try emulator.ask("four.example.com", "&timeout=1000&sdk=1_4&scene=3").exit == 0)
    }

    @Test func `an expiry is checked against the emulator's clock`() throws {
        let emulator = try RunningEmulator("--require-expiry")
        let soon = Int(Date().timeIntervalSince1970) + 600
        #expect(try emulator.ask("four.example.com").status == 401)
        #expect(try emulator.ask("four.example.com;\(soon)").text == "192.0.2.4")
        #expect(try emulator.ask("four.example.com%3B\(soon)").text == "192.0.2.4")
        #expect(try emulator.get("/_emulator/clock", "--data", "3600").status == 200)
        let late = try emulator.ask("four.example.com;\(soon)")
        #expect(late.status == 401)

        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = try #require(formatter.date(from: late.headers["date"] ?? ""))
        #expect(date.timeIntervalSince1970 > TimeInterval(soon))
    }

    @Test func `with --refuse-expiry, requests with an expiry are rejected`() throws {
        let emulator = try RunningEmulator("--refuse-expiry")
        let soon = Int(Date().timeIntervalSince1970) + 600
        #expect(try emulator.ask("four.example.com;\(soon)").status == 401)
        #expect(try emulator.ask("four.example.com").text == "192.0.2.4")
    }

    @Test func `an encrypted expiry in the past is rejected`() throws {
        let now = try RunningEmulator()
        let path = "/d?dn=\(Vector["R5"].des)&id=12345&alg=des&ttl=1&clientip=1&ip=1.2.3.4"
        #expect(try now.get(path).status == 401)
        let past = 1_700_000_000 - Int(Date().timeIntervalSince1970)
        let then = try RunningEmulator("--clock-offset", String(past))
        #expect(try then.get(path).text == Vector["S6"].des)
    }

    @Test func `the reply to a batch is limited to 8 KiB, the reply for one name is not`() throws {
        let lines = (0..<300).map { "big.example 60 A 10.1.100.\($0 % 256)\n" }.joined()
        let zone = try TemporaryFile(
            lines + lines.replacing("big.example", with: "other.example")
                + lines.replacing("big.example", with: "third.example")
        )
        let emulator = try RunningEmulator("--zone", zone.path)
        let batch = try emulator.ask("big.example,other.example,third.example")
        #expect(batch.body.count <= 8192)
        #expect(batch.text.split(separator: "\n").count == 2)
        #expect(try emulator.ask("big.example").body.count > 2000)
    }
}
