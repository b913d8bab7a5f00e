// SPDX-License-Identifier: Apache-2.0

/// Turns text into sealed octets and back, under one key.
///
/// A sealed text carries all that the peer needs besides the key: a cipher with an initialisation
/// vector puts it in front.
package protocol Cipher: Sendable {
    /// Octets of the initialisation vector that `seal` wants; 0 if the cipher has none.
    var vectorOctets: Int { get }

    /// Encrypts `plain`; `vector` must never repeat under one key.
    ///
    /// - Precondition: `vector` has `vectorOctets` octets.
    /// - Throws: `CipherError.library` only, as every plain text can be encrypted.
    func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8]

    /// Decrypts what a peer sealed.
    ///
    /// - Throws: `CipherError.undecryptable` for a wrong length, key or padding: which of them is
    ///   nobody's business.
    func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8]
}

/// What can go wrong with keys and ciphers.
package enum CipherError: Error, Hashable {
    /// The key is not as long as the cipher demands, in octets.
    case keyLength(expected: Int, found: Int)

    /// OpenSSL could not load the module that holds DES.
    case legacyProviderMissing

    /// OpenSSL does not offer the cipher.
    case unavailable(String)

    /// Text sealed with another key, damaged, cut off, or not sealed at all.
    case undecryptable

    /// OpenSSL failed for a reason that is not ours, such as lack of memory.
    case library(call: String)

    /// The random generator gave nothing.
    case noEntropy
}

extension CipherError: CustomStringConvertible {
    /// One line for the log, without any octet of key or text.
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
