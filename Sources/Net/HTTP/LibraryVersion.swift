// SPDX-License-Identifier: Apache-2.0
internal import CCurl

package enum LibraryVersion {
    /// Versions, such as `libcurl/7.88.1 OpenSSL/3.0.19`.
    package static var curl: String {
        // SAFETY: libcurl's text is static.
        unsafe String(cString: curl_version())
    }

    package static var hasHTTP3: Bool {
        // SAFETY: libcurl's structure is static.
        guard let information = unsafe curl_version_info(CURLVERSION_FIRST) else { return false }
        return unsafe information.pointee.features & CURL_VERSION_HTTP3 != 0
    }
}
