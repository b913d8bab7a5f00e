// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("Tencent's ciphers (document 379/95499)")
struct CipherTests {
    let aes: Cipher
    let des: Cipher

    init() throws {
        aes = try Cipher(.aesCBC, key: Secret(TencentVectors.aesKey))
        des = try Cipher(.desECB, key: Secret(TencentVectors.desKey))
    }

    @Test(
        "the texts of known requests have the expected ciphertexts",
        arguments: TencentVectors.requests
    )
    func seals(_ text: SealedText) throws {
        let plain = [UInt8](text.plain.utf8)
        let vector = TencentVectors.requestVector
        #expect(try des.seal(plain, vector: []).hexadecimal == text.des)
        #expect(try aes.seal(plain, vector: vector).hexadecimal == text.aes)
    }

    @Test(
        "the texts of known replies have the expected ciphertexts",
        arguments: TencentVectors.replies
    )
    func sealsReplies(_ text: SealedText) throws {
        let plain = [UInt8](text.plain.utf8)
        let vector = TencentVectors.replyVector
        #expect(try des.seal(plain, vector: []).hexadecimal == text.des)
        #expect(try aes.seal(plain, vector: vector).hexadecimal == text.aes)
    }

    @Test(
        "the ciphertexts of known replies are decrypted",
        arguments: TencentVectors.requests + TencentVectors.replies
    )
    func opens(_ text: SealedText) throws {
        let des = try #require(Hexadecimal.decode([UInt8](text.des.utf8)[...]))
        let aes = try #require(Hexadecimal.decode([UInt8](text.aes.utf8)[...]))
        #expect(try self.des.open(des) == [UInt8](text.plain.utf8))
        #expect(try self.aes.open(aes) == [UInt8](text.plain.utf8))
    }

    /// The keys in the vendors' documents are longer; DES uses their first eight characters.
    @Test(
        "the ciphertexts agree with test vectors of other sources",
        arguments: [
            ("dnspodpa", "www.dnspod.cn", "87ae992c1321f299da3c0210a9900ae7"),
            ("weijianl", "www.google.com", "cd52888ecabcac455a14ddbac7f03d97"),
        ]
    )
    func agreesWithOthers(key: String, plain: String, sealed: String) throws {
        let cipher = try Cipher(.desECB, key: Secret(key))
        #expect(try cipher.seal([UInt8](plain.utf8), vector: []).hexadecimal == sealed)
    }

    @Test("AES has an IV of 16 octets, and DES has no IV")
    func vectorLength() {
        #expect(aes.vectorOctets == 16)
        #expect(des.vectorOctets == 0)
    }

    @Test("a round trip preserves texts of up to three blocks", arguments: 0...48)
    func roundTrip(count: Int) throws {
        let plain = [UInt8](repeating: 0x61, count: count)
        #expect(try des.open(try des.seal(plain, vector: [])) == plain)
        #expect(try aes.open(try aes.seal(plain, vector: try Entropy.system.octets(16))) == plain)
    }

    @Test("a ciphertext of impossible length is rejected", arguments: [0, 1, 7, 9, 15, 17, 31])
    func badLengths(count: Int) {
        let octets = [UInt8](repeating: 0, count: count)
        #expect(throws: VendorError.undecryptable) { try des.open(octets) }
        #expect(throws: VendorError.undecryptable) { try aes.open(octets) }
    }

    @Test("an IV without ciphertext cannot be decrypted")
    func vectorOnly() {
        #expect(throws: VendorError.undecryptable) {
            try aes.open(TencentVectors.replyVector)
        }
    }

    @Test("without its last block a ciphertext cannot be decrypted")
    func missingPadding() throws {
        let plain = [UInt8]("abcdefgh".utf8)
        let sealed = try des.seal(plain, vector: [])
        #expect(throws: VendorError.undecryptable) { try des.open([UInt8](sealed.prefix(8))) }
    }

    @Test("another key cannot decrypt a ciphertext")
    func wrongKey() throws {
        let text = try TencentVectors.reply("S5")
        let sealed = try #require(Hexadecimal.decode([UInt8](text.des.utf8)[...]))
        let cipher = try Cipher(.desECB, key: Secret("testkeyX"))
        #expect(throws: VendorError.undecryptable) { try cipher.open(sealed) }
    }

    @Test("a key of invalid length is rejected", arguments: [0, 1, 7, 9, 15, 17, 24, 32])
    func keyLengths(count: Int) {
        let key = Secret([UInt8](repeating: 0x41, count: count))
        #expect(throws: CipherError.keyLength(expected: 16, found: count)) {
            try Cipher(.aesCBC, key: key)
        }
        #expect(throws: CipherError.keyLength(expected: 8, found: count)) {
            try Cipher(.desECB, key: key)
        }
    }

    @Test("the error for a missing legacy provider names the packages that contain it")
    func missingModule() throws {
        let error = try #require(throws: CipherError.self) {
            try Cipher(.desECB, key: Secret("testkey1"), modules: "/nonexistent")
        }
        #expect(error == .legacyProviderMissing)
        #expect(error.description.contains("legacy.so"))
        #expect(error.description.contains("libssl3"))
    }

    @Test("DES leaves the process-wide library context unchanged")
    func contextUntouched() {
        #expect(OSSL_PROVIDER_available(nil, "legacy") == 0)
        #expect(OSSL_PROVIDER_available(nil, "default") == 1)
    }

    @Test("failures leave no error in OpenSSL's queue")
    func errorQueue() {
        ERR_clear_error()
        #expect(throws: VendorError.self) { try des.open([UInt8](repeating: 7, count: 8)) }
        #expect(throws: CipherError.self) {
            try Cipher(.desECB, key: Secret("testkey1"), modules: "/nonexistent")
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test("the random generator returns the requested number of octets; two results differ")
    func entropy() throws {
        let first = try Entropy.system.octets(16)
        #expect(first.count == 16)
        #expect(first != (try Entropy.system.octets(16)))
        #expect(try Entropy.system.octets(0).isEmpty)
    }
}

@Suite("Hexadecimal text")
struct HexadecimalTests {
    @Test("digits are written in lower case and read in either case")
    func cases() {
        #expect(([0x00, 0xAB, 0xFF] as [UInt8]).hexadecimal == "00abff")
        #expect(Hexadecimal.decode([UInt8]("00aBFf".utf8)[...]) == [0x00, 0xAB, 0xFF])
        #expect(Hexadecimal.decode([]) == [])
    }

    @Test(
        "text that is not hexadecimal is rejected",
        arguments: ["0", "abc", "0g", "0x00", " 00", "00\n", "é"]
    )
    func refused(text: String) {
        #expect(Hexadecimal.decode([UInt8](text.utf8)[...]) == nil)
    }
}

@Suite("Secrets are never printed")
struct SecretTests {
    private func texts(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value)" + String(reflecting: value) + dumped
    }

    @Test("no textual description shows a secret")
    func secret() {
        let secret = Secret("hunter2hunter2hu")
        #expect(!texts(of: secret).contains("hunter2"))
        #expect(secret.count == 16)
        #expect(secret.copy == [UInt8]("hunter2hunter2hu".utf8))
    }

    @Test("ciphers do not print their keys")
    func ciphers() throws {
        let key = "hunter2hunter2hu"
        #expect(!texts(of: try Cipher(.aesCBC, key: Secret(key))).contains("hunter2"))
        #expect(!texts(of: try Cipher(.desECB, key: Secret("hunter22"))).contains("hunter2"))
    }

    @Test("vendors do not print keys")
    func vendors() throws {
        let aes = try Tencent(key: Secret("hunter2hunter2hu"), id: 1, algorithm: .aes)
        let https = try Tencent(token: Secret("hunter2"))
        #expect(!texts(of: [aes, https]).contains("hunter2"))
        #expect(!texts(of: Optional(https)).contains("hunter2"))
        #expect(texts(of: aes).contains("tencent over http with aes"))
    }

    @Test("errors about keys do not quote the keys")
    func errors() throws {
        let error = try #require(throws: TencentSetupError.self) {
            try Tencent(key: Secret("hunter2"), id: 1, algorithm: .des)
        }
        #expect(!texts(of: error).contains("hunter2"))
        #expect("\(error)" == "the key must have exactly 8 characters, not 7")
    }
}
