// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Testing

struct ServerCertificate: Sendable {
    let authorityFile: String

    private let directory: TemporaryDirectory

    init() throws {
        let certificates = try Certificates.shared.get()
        directory = try TemporaryDirectory()
        try directory.write(certificates.authority, to: "ca.pem")
        try directory.write(certificates.certificate, to: "server.pem")
        try directory.write(certificates.key, to: "server.key")
        authorityFile = directory.path("ca.pem")
    }

    /// Returns a context of OpenSSL for servers, which the caller frees.
    func context() throws -> OpaquePointer {
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        let (certificate, key) = (directory.path("server.pem"), directory.path("server.key"))
        try #require(SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) == 1)
        try #require(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
        return context
    }

    /// Returns a context that selects HTTP/2 (ALPN, RFC 7301); the caller frees it.
    func http2Context() throws -> OpaquePointer {
        let context = try context()
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, length, _, _, _ in
                // SAFETY: the text of a StaticString is never freed.
                let name: StaticString = "h2"
                chosen?.pointee = name.utf8Start
                length?.pointee = UInt8(name.utf8CodeUnitCount)
                return SSL_TLSEXT_ERR_OK
            },
            nil
        )
        return context
    }
}
