// SPDX-License-Identifier: Apache-2.0
internal import CCurl

/// The libcurl that this program runs with, with what it was built on.
package enum LibraryVersion {
    /// As in `libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13 nghttp2/1.52.0`.
    package static var curl: String {
        // SAFETY: libcurl's text is static and ends with NUL.
        unsafe String(cString: curl_version())
    }
}
