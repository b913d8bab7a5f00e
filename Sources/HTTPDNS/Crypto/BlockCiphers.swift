// SPDX-License-Identifier: Apache-2.0

/// AES-128 in CBC mode with PKCS#7 padding, the vector in front of the text.
package struct AES128CBC: Cipher {
    /// Octets of the key.
    package static let keyOctets = 16

    /// OpenSSL's part.
    private let algorithm: CipherAlgorithm

    /// The key, overwritten with the last copy of this value.
    private let key: Secret

    /// Accepts a key of exactly 16 octets.
    ///
    /// The vendors' kits pad or cut other lengths, each in its own way; a key of the wrong length
    /// is a key copied wrongly.
    ///
    /// - Throws: `CipherError.keyLength`, `.unavailable` or `.library`.
    package init(key: Secret) throws(CipherError) {
        guard key.count == Self.keyOctets else {
            throw .keyLength(expected: Self.keyOctets, found: key.count)
        }
        self.key = key
        algorithm = try CipherAlgorithm("AES-128-CBC", from: ["default"])
    }

    package var vectorOctets: Int { algorithm.vectorOctets }

    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8] {
        vector + (try algorithm.run(.encrypt, key: key, vector: vector, on: plain[...]))
    }

    package func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8] {
        let vector = [UInt8](sealed.prefix(vectorOctets))
        let text = sealed.dropFirst(vectorOctets)
        // Padding is always there, so even the empty text takes a block (RFC 5652 §6.3).
        guard !text.isEmpty, text.count.isMultiple(of: algorithm.blockOctets) else {
            throw .undecryptable
        }
        return try algorithm.run(.decrypt, key: key, vector: vector, on: text)
    }
}

/// DES in ECB mode with PKCS#5 padding: broken, but the default of an API in service.
///
/// The same text always seals to the same octets, and 56 bits of key are searched in a day.  It
/// keeps honest boxes on the path from reading along, and no more.
package struct DESECB: Cipher {
    /// Octets of the key.
    package static let keyOctets = 8

    /// OpenSSL's part.
    private let algorithm: CipherAlgorithm

    /// The key, overwritten with the last copy of this value.
    private let key: Secret

    /// Accepts a key of exactly 8 octets.
    ///
    /// - Throws: `CipherError.keyLength`, `.legacyProviderMissing`, `.unavailable` or `.library`.
    package init(key: Secret) throws(CipherError) {
        try self.init(key: key, modules: nil)
    }

    /// Does the same with OpenSSL's modules taken from another directory.
    init(key: Secret, modules: String?) throws(CipherError) {
        guard key.count == Self.keyOctets else {
            throw .keyLength(expected: Self.keyOctets, found: key.count)
        }
        self.key = key
        algorithm = try CipherAlgorithm("DES-ECB", from: ["default", "legacy"], modules: modules)
    }

    package var vectorOctets: Int { algorithm.vectorOctets }

    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8] {
        try algorithm.run(.encrypt, key: key, vector: vector, on: plain[...])
    }

    package func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8] {
        guard !sealed.isEmpty, sealed.count.isMultiple(of: algorithm.blockOctets) else {
            throw .undecryptable
        }
        return try algorithm.run(.decrypt, key: key, vector: [], on: sealed[...])
    }
}
