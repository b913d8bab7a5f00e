// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

@Suite("Bodies and statuses of Tencent's replies")
struct TencentBodyTests {
    @Test("known encrypted replies are parsed", arguments: ["S5", "S7", "S12"])
    func sealed(label: String) throws {
        let text = try TencentVectors.reply(label)
        let families: Families = text.plain.contains("-") ? .both : .v4
        let question = try lookup("cloud.tencent.com", families: families)
        let expected = try plainTencent().answers(to: question, in: ok(text.plain))
        #expect(try sealedTencent(.des).answers(to: question, in: ok(text.des)) == expected)
        #expect(try sealedTencent(.aes).answers(to: question, in: ok(text.aes)) == expected)
    }

    @Test(
        "an encrypted reply is accepted only with a name, a TTL and a client address",
        arguments: ["S2", "S3", "S4", "S8", "S9"]
    )
    func incomplete(label: String) throws {
        let text = try TencentVectors.reply(label)
        let families: Families = text.plain.contains("-") ? .both : .v4
        let question = try lookup("cloud.tencent.com", families: families)
        for (vendor, body) in [
            (try sealedTencent(.des), text.des), (try sealedTencent(.aes), text.aes),
        ] {
            #expect(throws: VendorError.unreadable(.incomplete)) {
                try vendor.answers(to: question, in: ok(body))
            }
        }
        // Over TLS, replies cannot be forged, so an incomplete reply is accepted.
        #expect(throws: Never.self) { try plainTencent().answers(to: question, in: ok(text.plain)) }
    }

    @Test("the ciphertext of an empty text is an empty answer")
    func sealedNothing() throws {
        let text = try TencentVectors.reply("S10")
        let question = try lookup("cloud.tencent.com")
        #expect(try sealedTencent(.des).answers(to: question, in: ok(text.des))[0].isEmpty)
        #expect(try sealedTencent(.aes).answers(to: question, in: ok(text.aes))[0].isEmpty)
    }

    @Test("an empty body is an empty answer, over HTTPS and with AES or DES")
    func emptyBody() throws {
        let question = try lookup("cloud.tencent.com")
        for vendor in [try sealedTencent(.des), try sealedTencent(.aes), try plainTencent()] {
            #expect(try vendor.answers(to: question, in: ok(""))[0].isEmpty)
            #expect(try vendor.answers(to: question, in: ok("\r\n"))[0].isEmpty)
        }
    }

    @Test("upper-case hexadecimal digits, and spaces and line ends after the text, are accepted")
    func forgivingHexadecimal() throws {
        let text = try TencentVectors.reply("S5")
        let question = try lookup("cloud.tencent.com", families: .v4)
        for body in [text.aes.uppercased(), text.aes + "\r\n", text.aes + "\n \n"] {
            let answers = try sealedTencent(.aes).answers(to: question, in: ok(body))
            #expect(answers[0].v4?.addresses.count == 3)
        }
    }

    @Test("text that is not hexadecimal is unreadable")
    func notHexadecimal() throws {
        let odd = String(try TencentVectors.reply("S5").des.dropLast())
        for body in [odd, "<html></html>", "cloud.tencent.com.:2.3.3.4,120", "zz"] {
            for channel in [Tencent.Channel.aes, .des] {
                #expect(throws: VendorError.unreadable(.notHexadecimal)) {
                    try sealedTencent(channel).answers(to: lookup("example.com"), in: ok(body))
                }
            }
        }
    }

    @Test("a body encrypted with another key cannot be decrypted")
    func undecryptable() throws {
        let question = try lookup("example.com")
        let vector = TencentVectors.replyVector.hexadecimal
        for body in ["00", "0011223344556677aa", vector, vector + vector] {
            #expect(throws: VendorError.undecryptable) {
                try sealedTencent(.aes).answers(to: question, in: ok(body))
            }
        }
        for body in ["00", "0011223344556677aa", "0011223344556677"] {
            #expect(throws: VendorError.undecryptable) {
                try sealedTencent(.des).answers(to: question, in: ok(body))
            }
        }
    }

    @Test("a decrypted text that is not UTF-8 is unreadable")
    func sealedRubbish() throws {
        let cipher = try Cipher(.aesCBC, key: Secret(TencentVectors.aesKey))
        let sealed = try cipher.seal([0xFF, 0xFE, 0x00], vector: TencentVectors.replyVector)
        #expect(throws: VendorError.unreadable(.noRecord)) {
            try sealedTencent(.aes).answers(
                to: lookup("example.com"),
                in: ok(sealed.hexadecimal)
            )
        }
    }

    @Test("a body of 8 KiB is accepted, one more octet is rejected")
    func bodyLimit() throws {
        let question = try lookup("example.com", families: .v4)
        let start = "example.com.:192.0.2.1,60|"
        let filler = String(repeating: "1", count: VendorLimits.maximumBody - start.utf8.count)
        #expect(
            try plainTencent().answers(to: question, in: ok(start + filler))[0].v4?.addresses.count
                == 1
        )
        #expect(throws: VendorError.unreadable(.tooLarge(octets: 8193))) {
            try plainTencent().answers(to: question, in: ok(start + filler + "1"))
        }
    }

    @Test(
        "a status other than 200 is an error",
        arguments: [
            (401, VendorError.unauthorized(status: 401)), (403, .unauthorized(status: 403)),
            (429, .limited(retryAfter: nil)), (404, .serverStatus(404)), (500, .serverStatus(500)),
            (501, .serverStatus(501)), (204, .serverStatus(204)), (301, .serverStatus(301)),
        ]
    )
    func statuses(status: Int, error: VendorError) throws {
        let reply = HTTPReply(status: status, body: [UInt8]("example.com.:192.0.2.1,60".utf8))
        #expect(throws: error) {
            try plainTencent().answers(to: lookup("example.com"), in: reply)
        }
    }

    @Test(
        "Retry-After is limited to an hour",
        arguments: [
            ("0", 0), ("30", 30), ("7200", 3600), ("99999999999999999999", 3600), ("-1", nil),
            ("", nil), ("soon", nil), ("Sat, 21 Nov 2026 03:00:00 GMT", nil),
        ] as [(String, Int?)]
    )
    func retryAfter(text: String, seconds: Int?) throws {
        var reply = HTTPReply(status: 429, body: [])
        reply.retryAfter = text
        #expect(throws: VendorError.limited(retryAfter: seconds.map { Duration.seconds($0) })) {
            try plainTencent().answers(to: lookup("example.com"), in: reply)
        }
    }
}
