// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Synchronization

@testable import Net

/// TLS server that answers two requests over HTTP/2 on its first connection.
///
/// On later connections, the server uses HTTP/1.1. If the path is `/blank`, the first header line
/// of an HTTP/1.1 reply begins with a blank. If the path is `/end`, close_notify follows the reply.
final class DowngradingServer: Sendable {
    let address: SocketAddress

    let certificate: ServerCertificate

    var requestsOverHTTP1: Int { requests.load(ordering: .relaxed) }
    private let requests = Atomic(0)

    /// Connections that the client closed after close_notify.
    var connectionsEnded: Int { ended.load(ordering: .relaxed) }
    private let ended = Atomic(0)

    private let listener: ListeningSocket

    init() throws {
        certificate = try ServerCertificate()
        listener = try ListeningSocket()
        address = listener.address
        let context = try certificate.context()
        let raw = UInt(bitPattern: context)
        Thread.detachNewThread { [self] in
            defer { SSL_CTX_free(OpaquePointer(bitPattern: raw)) }
            connect(OpaquePointer(bitPattern: raw), "h2", Self.serveHTTP2)
            while connect(OpaquePointer(bitPattern: raw), "http/1.1", serveHTTP1) {}
        }
    }

    @discardableResult
    private func connect(
        _ context: OpaquePointer?,
        _ version: StaticString,
        _ serve: (OpaquePointer) -> Void
    ) -> Bool {
        let isHTTP2 = version.utf8CodeUnitCount == 2
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, length, _, _, isHTTP2 in
                // SAFETY: the text of a StaticString is never freed.
                let name: StaticString = isHTTP2 == nil ? "http/1.1" : "h2"
                chosen?.pointee = name.utf8Start
                length?.pointee = UInt8(name.utf8CodeUnitCount)
                return SSL_TLSEXT_ERR_OK
            },
            isHTTP2 ? UnsafeMutableRawPointer(bitPattern: 1) : nil
        )
        let client = accept(listener.descriptor, nil, nil)
        guard client >= 0 else { return false }
        defer { close(client) }
        guard let tls = SSL_new(context) else { return false }
        defer { SSL_free(tls) }
        SSL_set_fd(tls, client)
        if SSL_accept(tls) == 1 { serve(tls) }
        return true
    }

    /// Answers two requests with the status 200 and an empty body (RFC 9113 §6).
    private static func serveHTTP2(_ tls: OpaquePointer) {
        guard read(24, tls) != nil else { return }
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        SSL_write(tls, settings, 9)
        var answered = 0
        while answered < 2, let head = read(9, tls) {
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard length == 0 || read(length, tls) != nil else { return }
            guard head[3] == 1 else { continue }
            let name = Array("x-name".utf8)
            let value = [UInt8](repeating: UInt8(ascii: "v"), count: 100)
            let block: [UInt8] = [0x88, 0, UInt8(name.count)] + name + [UInt8(value.count)] + value
            let reply = [0, 0, UInt8(block.count), 1, 5] + head[5...] + block
            SSL_write(tls, reply, Int32(reply.count))
            answered += 1
        }
        SSL_shutdown(tls)
    }

    private func serveHTTP1(_ tls: OpaquePointer) {
        var request: [UInt8] = []
        while let octet = read(1, tls) {
            request += octet
            guard request.suffix(4) == [13, 10, 13, 10] else { continue }
            requests.add(1, ordering: .relaxed)
            let isBlank = String(decoding: request, as: UTF8.self).hasPrefix("GET /blank ")
            let reply = "HTTP/1.1 200 OK\r\n\(isBlank ? " x: y\r\n" : "")Content-Length: 1\r\n\r\n1"
            SSL_write(tls, Array(reply.utf8), Int32(reply.utf8.count))
            if String(decoding: request, as: UTF8.self).hasPrefix("GET /end ") {
                SSL_shutdown(tls)
                _ = read(1, tls)
                ended.add(1, ordering: .relaxed)
                return
            }
            request = []
        }
    }

    private static func read(_ count: Int, _ tls: OpaquePointer) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        var end = 0
        while end < count {
            let got = octets[end...].withUnsafeMutableBytes {
                SSL_read(tls, $0.baseAddress, Int32($0.count))
            }
            guard got > 0 else { return nil }
            end += Int(got)
        }
        return octets
    }

    private func read(_ count: Int, _ tls: OpaquePointer) -> [UInt8]? { Self.read(count, tls) }
}
