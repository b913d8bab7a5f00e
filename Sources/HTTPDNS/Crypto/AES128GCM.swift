// SPDX-License-Identifier: Apache-2.0

/// AES-128 in Galois/Counter mode, the only authenticated cipher here.
///
/// A sealed text is nonce, ciphertext, 16-octet tag.
package struct AES128GCM: Cipher {
    static let tagOctets = 16

    private let algorithm: CipherAlgorithm

    package init(key: Secret) throws(CipherError) {
        algorithm = try CipherAlgorithm("AES-128-GCM", key: key, octets: 16)
    }

    package var vectorOctets: Int { algorithm.vectorOctets }

    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: Self.tagOctets)
        let text = try algorithm.run(.encrypt, vector: vector, on: plain[...], tag: &tag)
        return vector + text + tag
    }

    package func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8] {
        guard sealed.count >= vectorOctets + Self.tagOctets else { throw .undecryptable }
        var tag = [UInt8](sealed.suffix(Self.tagOctets))
        return try algorithm.run(
            .decrypt,
            vector: [UInt8](sealed.prefix(vectorOctets)),
            on: sealed.dropFirst(vectorOctets).dropLast(Self.tagOctets),
            tag: &tag
        )
    }
}
