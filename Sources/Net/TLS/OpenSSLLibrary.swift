// SPDX-License-Identifier: Apache-2.0
private import COpenSSL

/// OpenSSL, which is loaded on demand.
package enum OpenSSLLibrary {
    /// Loads OpenSSL from the disk, which blocks; returns the reason of a failure, or nil.
    ///
    /// If OpenSSL cannot be loaded, the first call of one of its functions ends the process.
    package static func load() -> String? {
        // SAFETY: the text is valid until the next call on this thread.
        unsafe openssl_library_load().map { unsafe String(cString: $0) }
    }
}
