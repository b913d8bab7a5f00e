// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// One cipher of OpenSSL, fetched from a library context of its own.
///
/// DES lives in the legacy provider, and loading that into the process-wide context would switch
/// off the implicit default provider under libcurl's feet.  So every algorithm brings its context
/// along, with its providers loaded by name, and frees it at the end.
// SAFETY: the pointers are set in init and freed in deinit; between the two OpenSSL only reads what
// they point to, which its manual (OSSL_LIB_CTX(3), EVP_CIPHER_fetch(3)) allows from any thread.
@safe
final class CipherAlgorithm: @unchecked Sendable {
    /// The library context, in which nothing else lives.
    private let context: OpaquePointer

    /// The providers loaded into it.
    private let providers: [OpaquePointer]

    /// The cipher, which belongs to one of the providers.
    private let cipher: OpaquePointer

    /// Octets of the key.
    let keyOctets: Int

    /// Octets of the initialisation vector, 0 for none.
    let vectorOctets: Int

    /// Octets of a block.
    let blockOctets: Int

    /// Fetches the cipher OpenSSL calls `name` from `providerNames`.
    ///
    /// - Parameter modules: the directory of provider modules; nil is the one OpenSSL was built for.
    /// - Throws: `CipherError.legacyProviderMissing`, `.unavailable` or `.library`.
    init(_ name: String, from providerNames: [String], modules: String? = nil)
        throws(CipherError)
    {
        ERR_set_mark()
        // libcurl's TLS on this thread must not find our errors in the thread's queue.
        defer { ERR_pop_to_mark() }

        // SAFETY: the context and what is loaded into it are freed on each way out of here, or
        // else by deinit, always in the reverse order of their making.
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
        keyOctets = Int(unsafe EVP_CIPHER_get_key_length(cipher))
        vectorOctets = Int(unsafe EVP_CIPHER_get_iv_length(cipher))
        blockOctets = Int(unsafe EVP_CIPHER_get_block_size(cipher))
    }

    deinit {
        // SAFETY: the last owner is gone; the cipher goes before the providers it came from.
        unsafe EVP_CIPHER_free(cipher)
        unsafe Self.free(providers, context)
    }

    /// Unloads `providers`, the last loaded first, and frees the context.
    private static func free(_ providers: [OpaquePointer], _ context: OpaquePointer) {
        // SAFETY: each was loaded into the context once, and the context made once.
        var loaded = unsafe providers
        while let provider = unsafe loaded.popLast() {
            _ = unsafe OSSL_PROVIDER_unload(provider)
        }
        unsafe OSSL_LIB_CTX_free(context)
    }
}

// MARK: - Using it

extension CipherAlgorithm {
    /// Whether `run` encrypts or decrypts.
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    /// Encrypts or decrypts all of `input`, with the padding of PKCS#7.
    ///
    /// - Precondition: `key` and `vector` have the lengths of this algorithm.
    /// - Throws: `CipherError.undecryptable` when decrypting, else `.library`.
    func run(
        _ direction: Direction,
        key: Secret,
        vector: [UInt8],
        on input: ArraySlice<UInt8>
    ) throws(CipherError) -> [UInt8] {
        var none: [UInt8] = []
        return try run(direction, key: key, vector: vector, on: input, tag: &none)
    }

    /// Does the same with a cipher that authenticates, which has no padding.
    ///
    /// - Parameter tag: what authenticates the text: written when encrypting, checked when
    ///   decrypting, as many octets as it has; empty for ciphers that do not authenticate.
    func run(
        _ direction: Direction,
        key: Secret,
        vector: [UInt8],
        on input: ArraySlice<UInt8>,
        tag: inout [UInt8]
    ) throws(CipherError) -> [UInt8] {
        precondition(key.count == keyOctets, "the key was checked when it was accepted")
        precondition(vector.count == vectorOctets, "a vector as long as the cipher wants")
        // A body is capped at some kilobytes long before it comes here; OpenSSL counts in int.
        guard input.count <= Int(Int32.max) - blockOctets else { throw .undecryptable }

        ERR_set_mark()
        // libcurl's TLS on this thread must not find our errors in the thread's queue.
        defer { ERR_pop_to_mark() }

        // SAFETY: the context is freed, and the key in it overwritten, on every way out.
        guard let state = unsafe EVP_CIPHER_CTX_new() else {
            throw .library(call: "EVP_CIPHER_CTX_new")
        }
        defer { unsafe EVP_CIPHER_CTX_free(state) }

        // SAFETY: OpenSSL copies key and vector, whose lengths were checked above.
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
        // SAFETY: EVP_CipherUpdate writes at most input.count + block - 1 octets, and the final
        // call at most one block behind those of the update; together never more than the output.
        // The tag is read or written with exactly its own count of octets.
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
