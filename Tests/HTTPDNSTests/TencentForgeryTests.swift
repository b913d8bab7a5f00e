// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("Forged replies of Tencent's encrypted channels")
struct TencentForgeryTests {
    private static let block = 16

    private struct Heard {
        let plain: [UInt8]
        let sealed: [UInt8]

        init(_ plain: String) throws {
            self.plain = [UInt8](plain.utf8)
            let cipher = try Cipher(.aesCBC, key: Secret(TencentVectors.aesKey))
            sealed = try cipher.seal(self.plain, vector: TencentVectors.replyVector)
        }

        func decrypted(_ index: Int) -> [UInt8] {
            let start = index * block
            return (0..<block).map { plain[start + $0] ^ sealed[start + $0] }
        }

        func ciphertext(_ index: Int) -> ArraySlice<UInt8> {
            sealed[((index + 1) * block)..<((index + 2) * block)]
        }
    }

    private static func xor(_ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        zip(first, second).map { $0 ^ $1 }
    }

    private static func padded(_ text: String) -> [UInt8] {
        let octets = [UInt8](text.utf8)
        let rest = block - octets.count % block
        return octets + [UInt8](repeating: UInt8(rest), count: rest)
    }

    private static func forged(_ heard: Heard, first: [UInt8], rest: ArraySlice<UInt8> = [])
        -> String
    {
        (xor(heard.decrypted(0), first) + heard.ciphertext(0) + rest).hexadecimal
    }

    @Test("an attacker who knows one block cannot forge an answer for another name")
    func oneBlock() throws {
        let heard = try Heard("known.example.com.:192.0.2.1,60-0|192.0.2.9")
        let vendor = try sealedTencent(.aes)
        let question = try lookup("www.example.com", families: .v4)
        for text in ["6.6.6.6,600", "6.6.6.6", "6.6.6.6,60|1.1.1", "0"] {
            let body = Self.forged(heard, first: Self.padded(text))
            #expect(throws: VendorError.self, "\(text)") {
                try vendor.answers(to: question, in: ok(body))
            }
        }
    }

    @Test("a reply with an unknown block between two blocks that an attacker chose is rejected")
    func chosenBlocks() throws {
        let heard = try Heard("known.example.com.:192.0.2.1,60-0|192.0.2.9")
        let vendor = try sealedTencent(.aes)
        let question = try lookup("www.qq.com", families: .v4)
        // In CBC, an attacker can choose the text of one block. Then the previous block decrypts
        // to text that the attacker does not know.
        let last = Self.padded("6.6.6.6,60|1.1.1")
        let vector = Self.xor(heard.decrypted(0), [UInt8](last.prefix(Self.block)))
        let body = Self.forged(
            heard,
            first: [UInt8]("www.qq.com.:6.6;".utf8),
            rest: vector[...] + heard.ciphertext(0)
        )
        #expect(throws: VendorError.self) { try vendor.answers(to: question, in: ok(body)) }
    }

    @Test("a list of scheduled servers with a forged first block is rejected")
    func conf() throws {
        let heard = try Heard("log:0|domain:0|ip:119.29.29.98;119.28.28.98|ttl:60")
        let vendor = try sealedTencent(.aes)
        let scheduler = try server("119.29.29.88:80")
        for text in ["ip:6.6.6.6|ttl:1", "log:0|ip:6.6.6.6", "ip:6.6.6.6"] {
            let octets = text.utf8.count < Self.block ? Self.padded(text) : [UInt8](text.utf8)
            for rest in [[], heard.sealed[32...], heard.sealed[48...]] as [ArraySlice<UInt8>] {
                let body = Self.forged(heard, first: octets, rest: rest)
                #expect(throws: VendorError.self, "\(text)") {
                    try vendor.servers(in: ok(body), from: scheduler)
                }
            }
        }
    }

    @Test("an encrypted reply with a TTL above a week is rejected")
    func ttl() throws {
        let vendor = try sealedTencent(.aes)
        let question = try lookup("www.example.com", families: .v4)
        let cipher = try Cipher(.aesCBC, key: Secret(TencentVectors.aesKey))
        for (seconds, isRead) in [(604_800, true), (604_801, false)] {
            let text = "www.example.com.:192.0.2.1,\(seconds)|192.0.2.9"
            let sealed = try cipher.seal([UInt8](text.utf8), vector: TencentVectors.replyVector)
            let answers = try? vendor.answers(to: question, in: ok(sealed.hexadecimal))
            #expect((answers != nil) == isRead)
        }
    }

    @Test("a vendor is protected only if it uses TLS or AES-GCM")
    func protection() throws {
        let key = Secret(TencentVectors.aesKey)
        #expect(try plainTencent().facts.isProtected)
        #expect(try !sealedTencent(.aes).facts.isProtected)
        #expect(try !sealedTencent(.des).facts.isProtected)
        let aesKey = Secret(String(repeating: "00", count: 16))
        for (encryption, usesTLS, isProtected) in [
            (.none, true, true), (.none, false, false), (.cbc, false, false), (.gcm, false, true),
        ] as [(Alibaba.Encryption, Bool, Bool)] {
            let vendor = try Alibaba(
                account: "1",
                aesKey: aesKey,
                encryption: encryption,
                usesTLS: usesTLS
            )
            #expect(vendor.facts.isProtected == isProtected)
            #expect(vendor.facts.usesTLS == usesTLS)
        }
        #expect(try DNSJSON(url: "https://dns.example/resolve").facts.isProtected)
        #expect(try !DNSJSON(url: "http://dns.example/resolve").facts.isProtected)
        #expect(try !Baidu(account: "1", secret: key, usesTLS: false).facts.isProtected)
        #expect(try !Volcengine(account: "1", secret: key, usesTLS: false).facts.isProtected)
    }
}
