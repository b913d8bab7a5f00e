// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

package enum CryptoVersion {
    /// Version of OpenSSL, for example `3.0.19`; `not loaded` before the first use.
    package static var openSSL: String {
        guard openssl_library_is_loaded() else { return "not loaded" }
        // SAFETY: OpenSSL's text is static and ends with NUL.
        return unsafe OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) }
            ?? "?"
    }
}
