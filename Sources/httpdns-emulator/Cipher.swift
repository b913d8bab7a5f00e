// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Ciphers of Tencent Cloud (document 379/3530) and Alibaba Cloud (document 2978980).
enum Cipher: Sendable {
    /// DES with PKCS#5 padding; weak, but the default of Tencent.
    case des
    /// AES-128-CBC with PKCS#7 padding; the IV precedes the ciphertext.
    case aes
    /// AES-128-GCM; the nonce precedes the ciphertext, and the tag follows it.
    case gcm

    enum Failure: Error {
        case unavailable
        case length
        case undecryptable
    }

    /// Block size; 1 for GCM, which needs no whole blocks.
    var blockOctets: Int {
        switch self {
        case .des: 8
        case .aes: 16
        case .gcm: 1
        }
    }

    /// Lengths of key, IV and tag in octets.
    private var shape: (name: String, key: Int, vector: Int, tag: Int) {
        switch self {
        case .des: ("DES-ECB", 8, 0, 0)
        case .aes: ("AES-128-CBC", 16, 16, 0)
        case .gcm: ("AES-128-GCM", 16, 12, 16)
        }
    }

    // MARK: - Messages

    /// Encrypts a message, with a random IV if `initialVector` is nil.
    ///
    /// If `padded` is false, the length of the text must be a multiple of the block size.
    func seal(
        _ text: [UInt8],
        key: [UInt8],
        initialVector: [UInt8]? = nil,
        padded: Bool = true
    ) throws(Failure) -> [UInt8] {
        let vector: [UInt8]
        if let initialVector {
            vector = initialVector
        } else {
            vector = try Self.random(shape.vector)
        }
        var tag: [UInt8] = []
        let sealed = try run(
            text,
            key: key,
            vector: vector,
            tag: &tag,
            encrypting: true,
            padded: padded
        )
        return vector + sealed + tag
    }

    func open(_ message: [UInt8], key: [UInt8]) throws(Failure) -> [UInt8] {
        let (_, _, vector, tag) = shape
        guard message.count > vector + tag, message.count.isMultiple(of: blockOctets) else {
            throw .undecryptable
        }
        var expected = Array(message.suffix(tag))
        return try run(
            Array(message[vector..<message.count - tag]),
            key: key,
            vector: Array(message[..<vector]),
            tag: &expected,
            encrypting: false,
            padded: true
        )
    }

    // MARK: - OpenSSL

    /// OpenSSL library context with DES.
    ///
    /// Because the legacy provider (with DES) is loaded, OpenSSL does not load the default provider
    /// automatically (`OSSL_PROVIDER_load(3)`).
    // SAFETY: created once and never freed; OpenSSL locks shared data of its contexts.
    private nonisolated(unsafe) static let library: OpaquePointer? = {
        guard let library = unsafe OSSL_LIB_CTX_new(),
            unsafe OSSL_PROVIDER_load(library, "default") != nil,
            unsafe OSSL_PROVIDER_load(library, "legacy") != nil
        else { return nil }
        return unsafe library
    }()

    private static func random(_ count: Int) throws(Failure) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        // SAFETY: RAND_bytes writes exactly `count` octets, the length of the array.
        guard unsafe RAND_bytes(&octets, Int32(count)) == 1 else { throw .unavailable }
        return octets
    }

    private func run(
        _ input: [UInt8],
        key: [UInt8],
        vector: [UInt8],
        tag: inout [UInt8],
        encrypting: Bool,
        padded: Bool
    ) throws(Failure) -> [UInt8] {
        let shape = shape
        guard key.count == shape.key, vector.count == shape.vector else { throw .length }
        guard let library = unsafe Self.library else { throw .unavailable }
        var output = [UInt8](repeating: 0, count: input.count + 16)
        var written: Int32 = 0
        var last: Int32 = 0

        // SAFETY: this function frees cipher and context once. Key and IV have the lengths that the
        // cipher reads. EVP writes at most one block (16 octets) more than the input, and
        // `output` has this space. The tag has the length that OpenSSL reads or writes.
        ERR_clear_error()
        guard let cipher = unsafe EVP_CIPHER_fetch(library, shape.name, nil) else {
            throw .unavailable
        }
        defer { unsafe EVP_CIPHER_free(cipher) }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .unavailable }
        defer { unsafe EVP_CIPHER_CTX_free(context) }

        guard
            unsafe EVP_CipherInit_ex2(context, cipher, key, vector, encrypting ? 1 : 0, nil) == 1,
            unsafe EVP_CIPHER_CTX_set_padding(context, padded ? 1 : 0) == 1
        else { throw .unavailable }
        if shape.tag > 0, !encrypting {
            let set = unsafe EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_SET_TAG,
                Int32(tag.count),
                &tag
            )
            guard set == 1 else { throw .unavailable }
        }
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
        if shape.tag > 0, encrypting {
            tag = [UInt8](repeating: 0, count: shape.tag)
            let got = unsafe EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_GET_TAG,
                Int32(tag.count),
                &tag
            )
            guard got == 1 else { throw .unavailable }
        }
        return Array(output[..<Int(written + last)])
    }
}
