// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import DNSWire
private import Net

package enum Digest {
    /// Returns the MD5 digest (RFC 1321), which older vendor APIs need.
    static func md5(_ text: [UInt8]) throws(VendorError) -> [UInt8] {
        try digest("MD5", text)
    }

    /// Returns the hexadecimal MD5 of `first-secret-last`.
    static func md5(
        _ first: String,
        _ secret: Secret,
        _ last: String
    ) throws(VendorError) -> String {
        // A growing array would leave a copy of the secret in freed memory.
        var text: [UInt8] = []
        text.reserveCapacity(first.utf8.count + secret.count + last.utf8.count + 2)
        defer { text.wipe() }
        text += first.utf8
        text.append(UInt8(ascii: "-"))
        // SAFETY: the octets are copied within the closure.
        unsafe secret.withOctets { unsafe text.append(contentsOf: $0) }
        text.append(UInt8(ascii: "-"))
        text += last.utf8
        return try md5(text).hexadecimal
    }

    static func sha256(_ text: [UInt8]) throws(VendorError) -> [UInt8] {
        try digest("SHA256", text)
    }

    /// Returns the HMAC-SHA256 (RFC 2104).
    static func hmacSHA256(key: Secret, _ text: [UInt8]) throws(VendorError) -> [UInt8] {
        try hmac("SHA256", octets: 32, key: key, text)
    }

    /// False if a restricted OpenSSL lacks HMAC-SHA256.
    package static var hasHMAC: Bool { (try? hmacSHA256(key: Secret("key"), [])) != nil }

    /// For Alibaba's RPC interface only.
    static func hmacSHA1(key: Secret, _ text: [UInt8]) throws(VendorError) -> [UInt8] {
        try hmac("SHA1", octets: 20, key: key, text)
    }

    private static func hmac(
        _ digest: String,
        octets count: Int,
        key: Secret,
        _ text: [UInt8]
    ) throws(VendorError) -> [UInt8] {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }

        var code = [UInt8](repeating: 0, count: count)
        var written = 0
        // SAFETY: OpenSSL reads key and text and writes at most code.count octets, all during the
        // call; the key's storage is valid during the closure.
        let result = unsafe key.withOctets { octets in
            unsafe EVP_Q_mac(
                nil,
                "HMAC",
                nil,
                digest,
                nil,
                octets.baseAddress,
                octets.count,
                text,
                text.count,
                &code,
                code.count,
                &written
            )
        }
        guard unsafe result != nil, written == code.count else {
            throw .cipher(.unavailable("HMAC-\(digest)"))
        }
        return code
    }

    private static func digest(_ name: String, _ text: [UInt8]) throws(VendorError) -> [UInt8] {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }

        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var written = 0
        // SAFETY: no digest is longer than EVP_MAX_MD_SIZE.
        guard unsafe EVP_Q_digest(nil, name, nil, text, text.count, &digest, &written) == 1 else {
            throw .cipher(.unavailable(name))
        }
        digest.removeSubrange(written...)
        return digest
    }
}
