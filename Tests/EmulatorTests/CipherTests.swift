// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import httpdns_emulator

@Suite("AES and DES (Tencent document 379/3530), Alibaba's ciphers (document 2978980)")
struct CipherTests {
    private let desKey = Array("testkey1".utf8)
    private let aesKey = Array("1234567890123456".utf8)

    @Test(arguments: Vector.all)
    func `DES agrees with the test vectors`(_ vector: Vector) throws {
        let message = try Cipher.des.seal(Array(vector.text.utf8), key: desKey)
        #expect(Hex.encode(message) == vector.des)
        let octets = try #require(Hex.decode(vector.des))
        #expect(try Cipher.des.open(octets, key: desKey) == Array(vector.text.utf8))
    }

    @Test(arguments: Vector.all)
    func `AES agrees with the test vectors`(_ vector: Vector) throws {
        let octets = try #require(Hex.decode(vector.aes))
        let message = try Cipher.aes.seal(
            Array(vector.text.utf8),
            key: aesKey,
            initialVector: Array(octets[..<16])
        )
        #expect(Hex.encode(message) == vector.aes)
        #expect(try Cipher.aes.open(octets, key: aesKey) == Array(vector.text.utf8))
    }

    @Test(
        arguments: [
            ("dnspodpa", "www.dnspod.cn", "87ae992c1321f299da3c0210a9900ae7"),  // Tencent 379/3530
            ("weijianl", "www.google.com", "cd52888ecabcac455a14ddbac7f03d97"),  // lua-resty-des
        ]
    )
    func `DES agrees with published examples`(_ key: String, _ text: String, _ hex: String) throws {
        #expect(Hex.encode(try Cipher.des.seal(Array(text.utf8), key: Array(key.utf8))) == hex)
    }

    @Test func `AES never uses an IV twice`() throws {
        let text = Array("www.qq.com".utf8)
        let first = try Cipher.aes.seal(text, key: aesKey)
        let second = try Cipher.aes.seal(text, key: aesKey)
        #expect(first[..<16] != second[..<16])
        #expect(try Cipher.aes.open(first, key: aesKey) == Cipher.aes.open(second, key: aesKey))
    }

    @Test(
        arguments: [
            ("empty", ""),
            ("not whole blocks", "a2135dd5db6f47d1474b0f976a2ac7"),
            ("padding of another key", "87ae992c1321f299da3c0210a9900ae7"),
        ]
    )
    func `an invalid DES message cannot be decrypted`(_ label: String, _ hex: String) throws {
        let octets = try #require(Hex.decode(hex))
        #expect(throws: Cipher.Failure.undecryptable) { try Cipher.des.open(octets, key: desKey) }
    }

    @Test func `an AES message with only an IV is undecryptable`() {
        #expect(throws: Cipher.Failure.undecryptable) {
            try Cipher.aes.open([UInt8](repeating: 1, count: 16), key: aesKey)
        }
    }

    @Test func `a message without padding is undecryptable`() throws {
        let block = [UInt8](repeating: 0, count: 16)
        let message = try Cipher.aes.seal(block, key: aesKey, padded: false)
        #expect(throws: Cipher.Failure.undecryptable) { try Cipher.aes.open(message, key: aesKey) }
    }

    @Test func `a key of the wrong length is rejected`() {
        #expect(throws: Cipher.Failure.length) { try Cipher.aes.seal([1], key: desKey) }
        #expect(throws: Cipher.Failure.length) { try Cipher.des.seal([1], key: aesKey) }
    }

    @Test func `GCM agrees with the test vector and detects changes`() throws {
        let key = try #require(Hex.decode(AlibabaVector.aes))
        let octets = try #require(Hex.decode(AlibabaVector.encrypted[1].1))
        let text = Array(#"{"dn":"www.aliyun.com","q":"4,6"}"#.utf8)
        #expect(try Cipher.gcm.open(octets, key: key) == text)
        #expect(try Cipher.gcm.seal(text, key: key, initialVector: Array(octets[..<12])) == octets)
        #expect(try Cipher.gcm.seal(text, key: key) != Cipher.gcm.seal(text, key: key))
        for index in [0, 12, octets.count - 1] {
            var spoilt = octets
            spoilt[index] ^= 1
            #expect(throws: Cipher.Failure.undecryptable) { try Cipher.gcm.open(spoilt, key: key) }
        }
        #expect(throws: Cipher.Failure.undecryptable) {
            try Cipher.gcm.open(Array(octets[..<28]), key: key)
        }
    }

    @Test(arguments: ["", "abc", "www.baidu.com-1234567890-1513602734"])
    func `digests agree with openssl`(_ text: String) throws {
        #expect(try Digest.md5(text) == OpenSSL.md5(text))
        #expect(try Digest.sha256(text) == OpenSSL.sha256(text))
        let key = AlibabaVector.secret
        #expect(
            try Digest.hmacSHA256(text, key: try #require(Hex.decode(key)))
                == OpenSSL.hmac(text, key: key)
        )
    }

    @Test func `texts are equal only if all their octets are equal`() {
        #expect(Digest.areEqual("", "") && Digest.areEqual("abc", "abc"))
        #expect(!Digest.areEqual("abc", "abd") && !Digest.areEqual("abc", "abcd"))
    }

    @Test func `hexadecimal digits are parsed in either letter case, and written in lower case`() {
        #expect(Hex.decode("00fFAb") == [0x00, 0xFF, 0xAB])
        #expect(Hex.encode([0x00, 0xFF, 0xAB]) == "00ffab")
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
        #expect(Hex.decode("+1") == nil)
    }
}
