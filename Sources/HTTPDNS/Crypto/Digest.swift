// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Digests and authentication codes, as vendors sign with.
enum Digest {
    /// MD5 (RFC 1321): broken as a digest, but what the older APIs sign with.
    static func md5(_ text: [UInt8]) throws(CipherError) -> [UInt8] {
        try digest("MD5", text)
    }

    /// The hexadecimal MD5 of `first-secret-last`, with which the older APIs sign.
    static func md5(
        _ first: String,
        _ secret: Secret,
        _ last: String
    ) throws(CipherError) -> String {
        // In one piece from the beginning, so that it leaves nothing behind where it was smaller.
        var text: [UInt8] = []
        text.reserveCapacity(first.utf8.count + secret.count + last.utf8.count + 2)
        defer { text.wipe() }
        text += first.utf8
        text.append(UInt8(ascii: "-"))
        // SAFETY: the octets are copied while they are lent.
        unsafe secret.withOctets { unsafe text.append(contentsOf: $0) }
        text.append(UInt8(ascii: "-"))
        text += last.utf8
        return Hexadecimal.encode(try md5(text))
    }

    /// SHA-256 (FIPS 180-4).
    static func sha256(_ text: [UInt8]) throws(CipherError) -> [UInt8] {
        try digest("SHA256", text)
    }

    /// HMAC-SHA256 (RFC 2104).
    static func hmacSHA256(key: Secret, _ text: [UInt8]) throws(CipherError) -> [UInt8] {
        ERR_set_mark()
        // libcurl's TLS on this thread must not find our errors in the thread's queue.
        defer { ERR_pop_to_mark() }

        var code = [UInt8](repeating: 0, count: 32)
        var written = 0
        // SAFETY: OpenSSL reads key and text and writes at most code.count octets, all during the
        // call; the key is lent for its time.
        let result = unsafe key.withOctets { octets in
            unsafe EVP_Q_mac(
                nil,
                "HMAC",
                nil,
                "SHA256",
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
            throw .unavailable("HMAC-SHA256")
        }
        return code
    }

    /// The digest that OpenSSL calls `name`.
    private static func digest(_ name: String, _ text: [UInt8]) throws(CipherError) -> [UInt8] {
        ERR_set_mark()
        // libcurl's TLS on this thread must not find our errors in the thread's queue.
        defer { ERR_pop_to_mark() }

        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var written = 0
        // SAFETY: no digest is longer than EVP_MAX_MD_SIZE.
        guard unsafe EVP_Q_digest(nil, name, nil, text, text.count, &digest, &written) == 1 else {
            throw .unavailable(name)
        }
        digest.removeSubrange(written...)
        return digest
    }
}
