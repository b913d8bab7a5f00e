// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// OpenSSL cipher with a key, and with its own library context.
///
/// In the process-wide context, the legacy provider (DES) would disable the default provider, which
/// libcurl needs for TLS.
// SAFETY: the pointers are set in init and freed in deinit. Between the two, OpenSSL only reads the
// objects, which OSSL_LIB_CTX(3) and EVP_CIPHER_fetch(3) allow from any thread.
@safe
final class CipherAlgorithm: @unchecked Sendable {
    private let context: OpaquePointer

    private let providers: [OpaquePointer]

    private let cipher: OpaquePointer

    private let key: Secret

    let vectorOctets: Int

    let blockOctets: Int

    /// Fetches the cipher `name`; `modules` replaces OpenSSL's directory of provider modules.
    init(
        _ name: String,
        key: Secret,
        octets: Int,
        from providerNames: [String] = ["default"],
        modules: String? = nil
    ) throws(CipherError) {
        guard key.count == octets else { throw .keyLength(expected: octets, found: key.count) }
        self.key = key
        ERR_set_mark()
        // libcurl must not find errors of this function in the thread's OpenSSL error queue.
        defer { ERR_pop_to_mark() }

        // SAFETY: the context and its providers are freed on each exit of init, otherwise in
        // deinit, always in the reverse order of creation.
        guard let context = unsafe OSSL_LIB_CTX_new() else {
            throw .library(call: "OSSL_LIB_CTX_new")
        }
        if let modules {
            _ = unsafe OSSL_PROVIDER_set_default_search_path(context, modules)
        }
        var providers = unsafe [OpaquePointer]()
        for providerName in providerNames {
            guard let provider = unsafe OSSL_PROVIDER_load(context, providerName) else {
                unsafe Self.free(providers, context)
                throw providerName == "legacy"
                    ? .legacyProviderMissing : .library(call: "OSSL_PROVIDER_load")
            }
            unsafe providers.append(provider)
        }
        guard let cipher = unsafe EVP_CIPHER_fetch(context, name, nil) else {
            unsafe Self.free(providers, context)
            throw .unavailable(name)
        }
        unsafe self.context = context
        unsafe self.providers = providers
        unsafe self.cipher = cipher
        precondition(Int(unsafe EVP_CIPHER_get_key_length(cipher)) == octets, "wrong key length")
        vectorOctets = Int(unsafe EVP_CIPHER_get_iv_length(cipher))
        blockOctets = Int(unsafe EVP_CIPHER_get_block_size(cipher))
    }

    deinit {
        // SAFETY: no reference remains; the cipher is freed before the provider that owns it.
        unsafe EVP_CIPHER_free(cipher)
        unsafe Self.free(providers, context)
    }

    private static func free(_ providers: [OpaquePointer], _ context: OpaquePointer) {
        // SAFETY: each provider was loaded once, and the context was created once.
        var loaded = unsafe providers
        while let provider = unsafe loaded.popLast() {
            _ = unsafe OSSL_PROVIDER_unload(provider)
        }
        unsafe OSSL_LIB_CTX_free(context)
    }
}

// MARK: - Operation

extension CipherAlgorithm {
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    func run(
        _ direction: Direction,
        vector: [UInt8],
        on input: ArraySlice<UInt8>
    ) throws(CipherError) -> [UInt8] {
        var none: [UInt8] = []
        return try run(direction, vector: vector, on: input, tag: &none)
    }

    /// Encrypts or decrypts all of `input`.
    ///
    /// - Parameter tag: authentication tag, written by encryption and checked by decryption; empty
    ///   for ciphers without authentication.
    func run(
        _ direction: Direction,
        vector: [UInt8],
        on input: ArraySlice<UInt8>,
        tag: inout [UInt8]
    ) throws(CipherError) -> [UInt8] {
        precondition(vector.count == vectorOctets, "wrong vector length")
        guard input.count <= Int(Int32.max) - blockOctets else { throw .undecryptable }

        ERR_set_mark()
        defer { ERR_pop_to_mark() }

        // SAFETY: the context is freed, and the key in it overwritten, on each exit.
        guard let state = unsafe EVP_CIPHER_CTX_new() else {
            throw .library(call: "EVP_CIPHER_CTX_new")
        }
        defer { unsafe EVP_CIPHER_CTX_free(state) }

        // SAFETY: OpenSSL copies key and vector, whose lengths were checked.
        let ready = unsafe key.withOctets { octets in
            unsafe EVP_CipherInit_ex2(
                state,
                cipher,
                octets.baseAddress?.assumingMemoryBound(to: UInt8.self),
                vector.isEmpty ? nil : vector,
                direction.rawValue,
                nil
            )
        }
        guard ready == 1 else { throw .library(call: "EVP_CipherInit_ex2") }

        var output = [UInt8](repeating: 0, count: input.count + blockOctets)
        var updated: Int32 = 0
        var finished: Int32 = 0
        // SAFETY: EVP_CipherUpdate writes at most input.count + block - 1 octets, and
        // EVP_CipherFinal_ex at most one block after them: together never more than the output
        // buffer has. Exactly tag.count octets of the tag are read or written.
        let succeeded = unsafe output.withUnsafeMutableBufferPointer { out in
            unsafe input.withUnsafeBufferPointer { text in
                guard
                    unsafe EVP_CipherUpdate(
                        state,
                        out.baseAddress,
                        &updated,
                        text.baseAddress,
                        Int32(text.count)
                    ) == 1
                else { return false }
                if direction == .decrypt, !tag.isEmpty,
                    unsafe EVP_CIPHER_CTX_ctrl(
                        state,
                        EVP_CTRL_AEAD_SET_TAG,
                        Int32(tag.count),
                        &tag
                    ) != 1
                {
                    return false
                }
                let rest = unsafe out.baseAddress?.advanced(by: Int(updated))
                guard unsafe EVP_CipherFinal_ex(state, rest, &finished) == 1 else { return false }
                guard direction == .encrypt, !tag.isEmpty else { return true }
                return unsafe EVP_CIPHER_CTX_ctrl(
                    state,
                    EVP_CTRL_AEAD_GET_TAG,
                    Int32(tag.count),
                    &tag
                ) == 1
            }
        }
        guard succeeded else {
            throw direction == .decrypt ? .undecryptable : .library(call: "EVP_CipherFinal_ex")
        }
        output.removeSubrange((Int(updated) + Int(finished))...)
        return output
    }
}
