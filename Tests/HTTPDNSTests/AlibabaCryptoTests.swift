// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("Digests and AES-GCM")
struct DigestTests {
    @Test("MD5 and SHA-256 agree with published vectors (RFC 1321 §A.5, FIPS 180-4)")
    func digests() throws {
        let text = [UInt8]("abc".utf8)
        #expect(try Digest.md5(text).hexadecimal == "900150983cd24fb0d6963f7d28e17f72")
        #expect(try Digest.md5([]).hexadecimal == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(
            try Digest.sha256(text).hexadecimal
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test("HMAC-SHA256 agrees with published vectors")
    func codes() throws {
        let cases: [(key: [UInt8], text: String, code: String)] = [
            (
                [UInt8](repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                [UInt8]("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
        for (key, text, code) in cases {
            #expect(
                try Digest.hmacSHA256(key: Secret(key), [UInt8](text.utf8)).hexadecimal
                    == code
            )
        }
    }

    @Test("AES-128-GCM agrees with published vectors (McGrew and Viega, cases 1 to 3)")
    func gcm() throws {
        let zero = try Cipher(.aesGCM, key: Secret([UInt8](repeating: 0, count: 16)))
        let nonce = [UInt8](repeating: 0, count: 12)
        let none = try zero.seal([], vector: nonce)
        #expect(
            none.hexadecimal == "00000000000000000000000058e2fccefa7e3061367f1d57a4e7455a"
        )
        #expect(try zero.open(none).isEmpty)
        let block = try zero.seal([UInt8](repeating: 0, count: 16), vector: nonce)
        #expect(
            [UInt8](block.dropFirst(12)).hexadecimal
                == "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"
        )
        #expect(try zero.open(block) == [UInt8](repeating: 0, count: 16))
    }

    @Test("a ciphertext with any changed octet is rejected")
    func authenticated() throws {
        ERR_clear_error()
        let cipher = try Cipher(.aesGCM, key: Secret("0123456789abcdef"))
        #expect(cipher.vectorOctets == 12)
        let sealed = try cipher.seal(
            [UInt8]("192.0.2.1".utf8),
            vector: try Entropy.system.octets(12)
        )
        #expect(try cipher.open(sealed) == [UInt8]("192.0.2.1".utf8))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: VendorError.undecryptable) { try cipher.open(changed) }
            #expect(throws: VendorError.undecryptable) {
                try cipher.open([UInt8](sealed.prefix(index)))
            }
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test("a key of invalid length is rejected", arguments: [0, 15, 17, 32])
    func keyLength(count: Int) {
        #expect(throws: CipherError.keyLength(expected: 16, found: count)) {
            try Cipher(.aesGCM, key: Secret([UInt8](repeating: 1, count: count)))
        }
    }
}
