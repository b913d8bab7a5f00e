// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

package enum CryptoVersion {
    /// Version of OpenSSL, for example `3.0.19`.
    package static var openSSL: String {
        // SAFETY: OpenSSL's text is static and ends with NUL.
        unsafe OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) } ?? "?"
    }
}
