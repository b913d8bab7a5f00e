// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Synchronization

@testable import Net

/// HTTP/2 server that replies to several requests of a connection with one `send`.
///
/// The bodies follow the headers of all replies; each frame is in a TLS record of its own.
///
/// Supports stream identifiers up to 255.
final class BatchingServer: Sendable {
    enum Ending: Sendable, CaseIterable {
        case none

        /// A GOAWAY frame (RFC 9113 §6.8) in the same `send` as the replies.
        case goAway

        /// The TLS alert `close_notify` in the same `send` as the replies.
        case closeNotify
    }

    let address: SocketAddress
    let certificate: ServerCertificate

    private let ending: Ending
    private let size: Int
    private let listener: ListeningSocket

    init(of size: Int, _ ending: Ending = .none) throws {
        self.size = size
        self.ending = ending
        certificate = try ServerCertificate()
        listener = try ListeningSocket()
        address = listener.address
        let context = try certificate.http2Context()
        let raw = UInt(bitPattern: context)
        Thread.detachNewThread { [self] in
            while case let client = accept(listener.descriptor, nil, nil), client >= 0 {
                Thread.detachNewThread { [self] in
                    defer { close(client) }
                    guard let tls = SSL_new(OpaquePointer(bitPattern: raw)) else { return }
                    defer { SSL_free(tls) }
                    SSL_set_fd(tls, client)
                    if SSL_accept(tls) == 1 { serve(tls, client) }
                }
            }
            SSL_CTX_free(OpaquePointer(bitPattern: raw))
        }
    }

    private func serve(_ tls: OpaquePointer, _ client: Int32) {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        guard SSL_write(tls, settings, 9) > 0 else { return }
        var received: [UInt8] = []
        var streams: [UInt8] = []
        var octets = [UInt8](repeating: 0, count: 4096)
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8.count
        var place = preface
        while case let count = SSL_read(tls, &octets, 4096), count > 0 {
            received += octets[..<Int(count)]
            while place + 9 <= received.count {
                let length = Int(received[place + 1]) << 8 + Int(received[place + 2])
                guard place + 9 + length <= received.count else { break }
                if received[place + 3] == 1 { streams.append(received[place + 8]) }
                place += 9 + length
            }
            guard streams.count == size else { continue }
            reply(to: streams, on: tls, client)
            streams = []
        }
    }

    private func reply(to streams: [UInt8], on tls: OpaquePointer, _ client: Int32) {
        let memory = BIO_new(BIO_s_mem())
        SSL_set_bio(tls, SSL_get_rbio(tls), memory)
        for stream in streams {
            // HEADERS with END_HEADERS; `:status: 200` is entry 8 (RFC 7541 §A).
            let frame: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, stream, 0x88]
            SSL_write(tls, frame, Int32(frame.count))
        }
        for stream in streams {
            // DATA with END_STREAM.
            let frame: [UInt8] = [0, 0, 1, 0, 1, 0, 0, 0, stream, 0x78]
            SSL_write(tls, frame, Int32(frame.count))
        }
        switch ending {
        case .none: break
        case .goAway:
            let frame: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7F, 255, 255, 255, 0, 0, 0, 0]
            SSL_write(tls, frame, Int32(frame.count))
        case .closeNotify: SSL_shutdown(tls)
        }
        var octets = [UInt8](repeating: 0, count: 8192)
        let count = BIO_read(memory, &octets, 8192)
        send(client, octets, Int(count), Int32(MSG_NOSIGNAL))
    }
}
