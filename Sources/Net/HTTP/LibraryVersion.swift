// SPDX-License-Identifier: Apache-2.0
internal import CCurl

package enum LibraryVersion {
    /// For example `libcurl/7.88.1 OpenSSL/3.0.19`; does not load libcurl.
    package static var curl: String {
        guard curl_library_is_loaded() else { return "not loaded" }
        // SAFETY: libcurl's text is static.
        return unsafe String(cString: curl_version())
    }

    /// True for libcurl before 8.1.0: using an easy handle again can cause a use after free.
    ///
    /// If the first header line of the next reply begins with a blank, libcurl writes to the freed
    /// headers of the earlier reply. An HTTP/2 reply cannot have such a line, so handles are used
    /// again for HTTP/2 only.
    static let hasStaleHeaders = isBefore8_1

    /// True for libcurl before 8.1.0: at the end of each HTTP/2 reply, libcurl reads the connection
    /// until the socket has no more octets.
    ///
    /// With a newer libcurl, octets after the last reply would remain in the read-ahead buffer, and
    /// libcurl would not notice the end of an idle connection.
    static let readsToTheEnd = isBefore8_1

    private static let isBefore8_1: Bool = {
        // SAFETY: libcurl's structure is static.
        guard let information = unsafe curl_version_info(CURLVERSION_FIRST) else { return true }
        return unsafe information.pointee.version_num < 0x08_01_00
    }()

    /// Also true if libcurl cannot be loaded, because a later call reports this failure.
    package static var hasHTTP3: Bool {
        guard HTTPClient.load() == nil else { return true }
        // SAFETY: libcurl's structure is static.
        guard let information = unsafe curl_version_info(CURLVERSION_FIRST) else { return false }
        return unsafe information.pointee.features & CURL_VERSION_HTTP3 != 0
    }
}
