// SPDX-License-Identifier: Apache-2.0
internal import CCurl

/// Versions and features of the loaded libcurl.
package enum LibraryVersion {
    /// Versions, such as `libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13 nghttp2/1.52.0`.
    package static var curl: String {
        // SAFETY: libcurl's text is static and ends with NUL.
        unsafe String(cString: curl_version())
    }

    package static var hasHTTP3: Bool {
        // SAFETY: libcurl's version information is static.
        guard let information = unsafe curl_version_info(CURLVERSION_FIRST) else { return false }
        return unsafe information.pointee.features & CURL_VERSION_HTTP3 != 0
    }
}
