// SPDX-License-Identifier: Apache-2.0

/// AES-128 in CBC mode with PKCS#7 padding; the initialisation vector comes first.
package struct AES128CBC: Cipher {
    package static let keyOctets = 16

    private let algorithm: CipherAlgorithm

    private let key: Secret

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
        // An empty text also has a block of padding (RFC 5652 §6.3).
        guard !text.isEmpty, text.count.isMultiple(of: algorithm.blockOctets) else {
            throw .undecryptable
        }
        return try algorithm.run(.decrypt, key: key, vector: vector, on: text)
    }
}

/// DES in ECB mode with PKCS#5 padding: insecure, but the default of Tencent's API.
package struct DESECB: Cipher {
    package static let keyOctets = 8

    private let algorithm: CipherAlgorithm

    private let key: Secret

    package init(key: Secret) throws(CipherError) {
        try self.init(key: key, modules: nil)
    }

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
