// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Testing

@testable import Net

/// TLS 1.3 server that sends key updates (RFC 8446 §4.6.3).
final class KeyUpdateServer: Sendable {
    let address: SocketAddress

    /// Authority of the certificate.
    let authorityFile: String

    private let directory: TemporaryDirectory
    private let listener: ListeningSocket

    init() throws {
        let certificates = try Certificates.shared.get()
        directory = try TemporaryDirectory()
        listener = try ListeningSocket()
        address = listener.address
        try directory.write(certificates.authority, to: "ca.pem")
        try directory.write(certificates.certificate, to: "server.pem")
        try directory.write(certificates.key, to: "server.key")
        authorityFile = directory.path("ca.pem")
        let context = try #require(SSL_CTX_new(TLS_server_method()))
        let pem = SSL_FILETYPE_PEM
        try #require(
            SSL_CTX_use_certificate_file(context, directory.path("server.pem"), pem) == 1
        )
        try #require(SSL_CTX_use_PrivateKey_file(context, directory.path("server.key"), pem) == 1)
        let raw = UInt(bitPattern: context)
        let socket = listener.descriptor
        Thread.detachNewThread {
            defer { SSL_CTX_free(OpaquePointer(bitPattern: raw)) }
            let client = accept(socket, nil, nil)
            guard client >= 0, let tls = SSL_new(OpaquePointer(bitPattern: raw)) else { return }
            SSL_set_fd(tls, client)
            if SSL_accept(tls) == 1 {
                while SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) == 1,
                    SSL_do_handshake(tls) == 1
                {}
            }
            SSL_free(tls)
            close(client)
        }
    }
}
