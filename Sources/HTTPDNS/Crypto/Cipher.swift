// SPDX-License-Identifier: Apache-2.0

/// Symmetric cipher with one key; the initialisation vector precedes the ciphertext.
package protocol Cipher: Sendable {
    /// Octets of the initialisation vector; 0 for none.
    var vectorOctets: Int { get }

    /// Encrypts `plain`; `vector` must never repeat under one key.
    func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8]

    /// Decrypts a ciphertext of the vendor.
    ///
    /// - Throws: `CipherError.undecryptable` for a wrong length, key or padding.
    func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8]
}

package enum CipherError: Error, Hashable {
    /// The key has `found` instead of `expected` octets.
    case keyLength(expected: Int, found: Int)

    /// OpenSSL cannot load the legacy provider, which has DES.
    case legacyProviderMissing

    case unavailable(String)

    /// The ciphertext is damaged, truncated, or encrypted with another key.
    case undecryptable

    case library(call: String)

    case noEntropy
}

extension CipherError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .keyLength(let expected, let found):
            "the key must have exactly \(expected) characters, not \(found)"
        case .legacyProviderMissing:
            """
            DES needs OpenSSL's legacy provider, and its module ossl-modules/legacy.so cannot be \
            loaded (Debian 12: package libssl3; Debian 13: openssl-provider-legacy; \
            Ubuntu 24.04: libssl3t64)
            """
        case .unavailable(let name): "OpenSSL does not offer the cipher \(name)"
        case .undecryptable: "the text cannot be decrypted with this key"
        case .library(let call): "OpenSSL failed in \(call)"
        case .noEntropy: "OpenSSL's random generator failed"
        }
    }
}
