// SPDX-License-Identifier: Apache-2.0

/// AES-128 in CBC mode with PKCS#7 padding; the initialisation vector comes first.
package struct AES128CBC: Cipher {
    private let algorithm: CipherAlgorithm

    package init(key: Secret) throws(CipherError) {
        algorithm = try CipherAlgorithm("AES-128-CBC", key: key, octets: 16)
    }

    package var vectorOctets: Int { algorithm.vectorOctets }

    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8] {
        vector + (try algorithm.run(.encrypt, vector: vector, on: plain[...]))
    }

    package func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8] {
        let vector = [UInt8](sealed.prefix(vectorOctets))
        let text = sealed.dropFirst(vectorOctets)
        // An empty text also has a block of padding (RFC 5652 §6.3).
        guard !text.isEmpty, text.count.isMultiple(of: algorithm.blockOctets) else {
            throw .undecryptable
        }
        return try algorithm.run(.decrypt, vector: vector, on: text)
    }
}

/// DES in ECB mode with PKCS#5 padding: insecure, but the default of Tencent's API.
package struct DESECB: Cipher {
    private let algorithm: CipherAlgorithm

    package init(key: Secret, modules: String? = nil) throws(CipherError) {
        algorithm = try CipherAlgorithm(
            "DES-ECB",
            key: key,
            octets: 8,
            from: ["default", "legacy"],
            modules: modules
        )
    }

    package var vectorOctets: Int { algorithm.vectorOctets }

    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(CipherError) -> [UInt8] {
        try algorithm.run(.encrypt, vector: vector, on: plain[...])
    }

    package func open(_ sealed: [UInt8]) throws(CipherError) -> [UInt8] {
        guard !sealed.isEmpty, sealed.count.isMultiple(of: algorithm.blockOctets) else {
            throw .undecryptable
        }
        return try algorithm.run(.decrypt, vector: [], on: sealed[...])
    }
}
