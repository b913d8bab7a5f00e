// SPDX-License-Identifier: Apache-2.0

extension EasyHandle {
    /// Request properties that determine the options of a handle.
    ///
    /// A class, because the copy of a struct would take as long as the comparison with a request.
    final class Kind {
        private let server: SocketAddress
        private let headers: [String]
        private let version: HTTPVersion
        let isSecure: Bool
        private let hasBody: Bool

        /// Nil if each request sets its own URL.
        let url: String?

        init?(_ request: HTTPRequest) {
            guard request.proxy == nil, !request.wantsFreshConnection else { return nil }
            server = request.server
            headers = request.headers
            version = request.version
            isSecure = request.isSecure
            hasBody = request.body != nil
            url = request.keepsURL ? request.url : nil
        }

        func isKind(of request: HTTPRequest) -> Bool {
            guard request.proxy == nil, !request.wantsFreshConnection, server == request.server,
                version == request.version, hasBody == (request.body != nil),
                headers == request.headers
            else { return false }
            if let url { return request.keepsURL && url == request.url }
            return !request.keepsURL && isSecure == request.isSecure
        }
    }
}
