// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Symmetric cipher of OpenSSL with one key, and with its own library context.
///
/// A sealed text consists of the initialisation vector, the ciphertext and, for GCM, the
/// authentication tag.
///
/// The library context is separate, because DES needs the legacy provider. In the process-wide
/// context, this provider would disable the default provider, which libcurl needs for TLS.
// SAFETY: the pointers are set in init and freed in deinit. Between the two, OpenSSL only reads the
// objects, which OSSL_LIB_CTX(3) and EVP_CIPHER_fetch(3) allow from any thread.
@safe
package final class Cipher: @unchecked Sendable {
    package enum Kind: String, Sendable {
        case aesCBC = "AES-128-CBC"

        case aesGCM = "AES-128-GCM"

        /// Insecure, but the default of Tencent's API.
        case desECB = "DES-ECB"

        fileprivate var keyOctets: Int { self == .desECB ? 8 : 16 }
        fileprivate var tagOctets: Int { self == .aesGCM ? 16 : 0 }
    }

    private let context: OpaquePointer

    private let providers: [OpaquePointer]

    private let cipher: OpaquePointer

    private let kind: Kind

    private let key: Secret

    package let vectorOctets: Int

    private let blockOctets: Int

    /// - Parameter modules: replaces OpenSSL's directory of provider modules.
    package init(_ kind: Kind, key: Secret, modules: String? = nil) throws(CipherError) {
        guard key.count == kind.keyOctets else {
            throw .keyLength(expected: kind.keyOctets, found: key.count)
        }
        self.kind = kind
        self.key = key
        ERR_set_mark()
        // libcurl must not find errors of this function in the thread's OpenSSL error queue.
        defer { ERR_pop_to_mark() }

        // SAFETY: if init throws, init frees the context and its providers, otherwise deinit frees
        // them; always in the reverse order of creation.
        guard let context = unsafe OSSL_LIB_CTX_new() else {
            throw .library(call: "OSSL_LIB_CTX_new")
        }
        if let modules {
            _ = unsafe OSSL_PROVIDER_set_default_search_path(context, modules)
        }
        var providers = unsafe [OpaquePointer]()
        for providerName in ["default"] + (kind == .desECB ? ["legacy"] : []) {
            guard let provider = unsafe OSSL_PROVIDER_load(context, providerName) else {
                unsafe Self.free(providers, context)
                throw providerName == "legacy"
                    ? .legacyProviderMissing : .library(call: "OSSL_PROVIDER_load")
            }
            unsafe providers.append(provider)
        }
        guard let cipher = unsafe EVP_CIPHER_fetch(context, kind.rawValue, nil) else {
            unsafe Self.free(providers, context)
            throw .unavailable(kind.rawValue)
        }
        unsafe self.context = context
        unsafe self.providers = providers
        unsafe self.cipher = cipher
        precondition(
            Int(unsafe EVP_CIPHER_get_key_length(cipher)) == kind.keyOctets,
            "wrong key length"
        )
        vectorOctets = Int(unsafe EVP_CIPHER_get_iv_length(cipher))
        blockOctets = Int(unsafe EVP_CIPHER_get_block_size(cipher))
    }

    deinit {
        // SAFETY: no code can use this object now; the cipher is freed before its provider.
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

extension Cipher {
    private enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    /// Encrypts `plain`; `vector` must never repeat under one key.
    package func seal(_ plain: [UInt8], vector: [UInt8]) throws(VendorError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: kind.tagOctets)
        return vector + (try run(.encrypt, vector: vector, on: plain[...], tag: &tag)) + tag
    }

    /// Decrypts a ciphertext of the vendor; throws `undecryptable` for a wrong length, key or tag.
    package func open(_ sealed: [UInt8]) throws(VendorError) -> [UInt8] {
        let text = sealed.dropFirst(vectorOctets).dropLast(kind.tagOctets)
        // With padding, even the ciphertext of an empty text has one block (RFC 5652 §6.3).
        guard sealed.count >= vectorOctets + max(kind.tagOctets, 1),
            text.count.isMultiple(of: blockOctets), !text.isEmpty || blockOctets == 1
        else { throw .undecryptable }
        var tag = [UInt8](sealed.suffix(kind.tagOctets))
        return try run(.decrypt, vector: [UInt8](sealed.prefix(vectorOctets)), on: text, tag: &tag)
    }

    /// - Parameter tag: written by encryption, checked by decryption; empty without authentication.
    private func run(
        _ direction: Direction,
        vector: [UInt8],
        on input: ArraySlice<UInt8>,
        tag: inout [UInt8]
    ) throws(VendorError) -> [UInt8] {
        precondition(vector.count == vectorOctets, "wrong vector length")
        guard input.count <= Int(Int32.max) - blockOctets else { throw .undecryptable }

        ERR_set_mark()
        defer { ERR_pop_to_mark() }

        // SAFETY: the context is freed, and the key in it overwritten, on each exit.
        guard let state = unsafe EVP_CIPHER_CTX_new() else {
            throw .cipher(.library(call: "EVP_CIPHER_CTX_new"))
        }
        defer { unsafe EVP_CIPHER_CTX_free(state) }

        // SAFETY: OpenSSL copies key and vector; their lengths were checked.
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
        guard ready == 1 else { throw .cipher(.library(call: "EVP_CipherInit_ex2")) }

        var output = [UInt8](repeating: 0, count: input.count + blockOctets)
        var updated: Int32 = 0
        var finished: Int32 = 0
        // SAFETY: EVP_CipherUpdate writes at most input.count + block - 1 octets, and
        // EVP_CipherFinal_ex at most one block after them. The output buffer has input.count +
        // block octets. OpenSSL reads or writes exactly tag.count octets of the tag.
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
            throw direction == .decrypt
                ? .undecryptable : .cipher(.library(call: "EVP_CipherFinal_ex"))
        }
        output.removeSubrange((Int(updated) + Int(finished))...)
        return output
    }
}

package enum CipherError: Error, Hashable {
    case keyLength(expected: Int, found: Int)

    case legacyProviderMissing

    case unavailable(String)

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
        case .library(let call): "OpenSSL failed in \(call)"
        case .noEntropy: "OpenSSL's random generator failed"
        }
    }
}
