// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The two ciphers of the vendor's document "AES/DES encryption and decryption" (379/3530).
enum Cipher: Sendable {
    /// DES-ECB with PKCS#5 padding; weak, and still the vendor's default.
    case des
    /// AES-128-CBC with PKCS#7 padding, the IV in front of the ciphertext.
    case aes

    /// Why text cannot be encrypted or decrypted.
    enum Failure: Error {
        /// OpenSSL has no such cipher, e.g. no legacy provider is installed for DES.
        case unavailable
        /// The key or the IV has the wrong length.
        case length
        /// The ciphertext is not whole blocks, or its padding is wrong.
        case undecryptable
    }

    /// Octets of a block, which is also the length of the IV.
    var blockOctets: Int { self == .des ? 8 : 16 }

    // MARK: - Messages

    /// Encrypts a message as it goes over the wire, before hex.
    ///
    /// - Parameters:
    ///   - initialVector: 16 octets for AES; nil draws fresh random ones. Unused by DES.
    ///   - padded: false leaves out the padding, so that the text must be whole blocks.
    func seal(
        _ text: [UInt8],
        key: [UInt8],
        initialVector: [UInt8]? = nil,
        padded: Bool = true
    ) throws(Failure) -> [UInt8] {
        var vector: [UInt8] = []
        if self == .aes {
            if let initialVector { vector = initialVector } else { vector = try Self.random(16) }
        }
        return vector
            + (try run(text, key: key, vector: vector, encrypting: true, padded: padded))
    }

    /// Decrypts a message from the wire, after hex.
    ///
    /// - Throws: `undecryptable` for whatever is wrong with the message.
    func open(_ message: [UInt8], key: [UInt8]) throws(Failure) -> [UInt8] {
        let vectorOctets = self == .aes ? blockOctets : 0
        guard message.count > vectorOctets, message.count.isMultiple(of: blockOctets) else {
            throw .undecryptable
        }
        return try run(
            Array(message[vectorOctets...]),
            key: key,
            vector: Array(message[..<vectorOctets]),
            encrypting: false,
            padded: true
        )
    }

    // MARK: - OpenSSL

    /// Whether both of OpenSSL's providers we need are there; they stay until the process ends.
    ///
    /// DES-ECB lives in OpenSSL 3's legacy provider, and loading one provider by name keeps the
    /// default one from being loaded by itself, so both are named (`OSSL_PROVIDER_load(3)`).
    private static let providersAreLoaded: Bool = {
        // SAFETY: nil is the default library context; the names are literals.
        unsafe OSSL_PROVIDER_load(nil, "default") != nil
            && OSSL_PROVIDER_load(nil, "legacy") != nil
    }()

    /// Random octets for an IV.
    private static func random(_ count: Int) throws(Failure) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        // SAFETY: RAND_bytes writes exactly `count` octets, the length of the array.
        guard unsafe RAND_bytes(&octets, Int32(count)) == 1 else { throw .unavailable }
        return octets
    }

    /// Runs the cipher over one buffer.
    private func run(
        _ input: [UInt8],
        key: [UInt8],
        vector: [UInt8],
        encrypting: Bool,
        padded: Bool
    ) throws(Failure) -> [UInt8] {
        guard key.count == (self == .des ? 8 : 16), self == .des || vector.count == 16 else {
            throw .length
        }
        guard Self.providersAreLoaded else { throw .unavailable }
        var output = [UInt8](repeating: 0, count: input.count + blockOctets)
        var written: Int32 = 0
        var last: Int32 = 0

        // SAFETY: cipher and context are owned here and freed once; key and IV have the lengths
        // the cipher reads; output holds the input and one block more, the most EVP may write.
        ERR_clear_error()
        guard
            let cipher = unsafe EVP_CIPHER_fetch(nil, self == .des ? "DES-ECB" : "AES-128-CBC", nil)
        else { throw .unavailable }
        defer { unsafe EVP_CIPHER_free(cipher) }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .unavailable }
        defer { unsafe EVP_CIPHER_CTX_free(context) }

        guard
            unsafe EVP_CipherInit_ex2(context, cipher, key, vector, encrypting ? 1 : 0, nil) == 1,
            unsafe EVP_CIPHER_CTX_set_padding(context, padded ? 1 : 0) == 1
        else { throw .unavailable }
        let done = unsafe output.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_CipherUpdate(
                context,
                buffer.baseAddress,
                &written,
                input,
                Int32(input.count)
            )
                == 1
                && EVP_CipherFinal_ex(
                    context,
                    buffer.baseAddress?.advanced(by: Int(written)),
                    &last
                )
                    == 1
        }
        guard done else { throw .undecryptable }
        return Array(output[..<Int(written + last)])
    }
}

/// Hexadecimal digits: lower case out, any case in.
enum Hex {
    /// The digits of octets.
    static func encode(_ octets: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    /// The octets of digits, nil if they are odd in number or not digits.
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
