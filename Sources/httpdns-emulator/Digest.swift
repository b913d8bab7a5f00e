// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation

/// Digests for the signatures of vendors, in lower-case hexadecimal or in Base64.
enum Digest {
    static func md5(_ text: String) -> String { hash(text, "MD5") }
    static func sha256(_ text: String) -> String { hash(text, "SHA256") }

    static func hmacSHA256(_ text: String, key: [UInt8]) -> String {
        Hex.encode(hmac(text, key: key, "SHA256"))
    }

    private static func hmac(_ text: String, key: [UInt8], _ digest: String) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        let text = Array(text.utf8)
        // SAFETY: the output has space for any digest; each array is passed with its length.
        let done = unsafe EVP_Q_mac(
            nil,
            "HMAC",
            nil,
            digest,
            nil,
            key,
            key.count,
            text,
            text.count,
            &octets,
            octets.count,
            &count
        )
        precondition(unsafe done != nil, "OpenSSL has no HMAC-\(digest)")
        return Array(octets[..<count])
    }

    static func hmacSHA1Base64(_ text: String, key: [UInt8]) -> String {
        Data(hmac(text, key: key, "SHA1")).base64EncodedString()
    }

    /// Returns true if the texts are equal; compares texts of equal length in constant time.
    static func areEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        // SAFETY: CRYPTO_memcmp reads `left.count` octets of both arrays, which have equal lengths.
        return unsafe CRYPTO_memcmp(left, right, left.count) == 0
    }

    private static func hash(_ text: String, _ name: String) -> String {
        var octets = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        let text = Array(text.utf8)
        // SAFETY: the output has space for any digest; `text` is passed with its length.
        let done = unsafe EVP_Q_digest(nil, name, nil, text, text.count, &octets, &count)
        precondition(done == 1, "OpenSSL has no \(name)")
        return Hex.encode(Array(octets[..<count]))
    }
}

/// Hexadecimal coding: encodes in lower case, decodes both cases.
enum Hex {
    static func encode(_ octets: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    static func decode(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { UInt8(String(UnicodeScalar($0)), radix: 16) }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            octets.append(high << 4 | low)
        }
        return octets
    }
}
