// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Synchronization

@testable import Net

/// Server that floods its first client with data.
final class FloodServer: Sendable {
    enum Flood: Sendable {
        /// KeyUpdate messages (RFC 8446 §4.6.3).
        case keyUpdates

        /// One octet of data after each thousand KeyUpdate messages.
        case keyUpdatesWithData

        /// HTTP/2 frames of an unknown type, which a client must ignore (RFC 9113 §4.1).
        case unknownFrames

        /// Frames of an unknown type, over TLS 1.2 after a HelloRequest (RFC 5246 §7.4.1.1).
        case unknownFramesAfterHelloRequest

        case helloRequests

        /// A PING frame (RFC 9113 §6.7) after each message of the client, but never a reply.
        case pings
    }

    var octetsSent: Int { sent.load(ordering: .relaxed) }
    private let sent = Atomic(0)

    let address: SocketAddress

    let certificate: ServerCertificate

    private let listener: ListeningSocket

    init(_ flood: Flood, after gate: DispatchSemaphore? = nil) throws {
        certificate = try ServerCertificate()
        listener = try ListeningSocket()
        address = listener.address
        let context = try certificate.http2Context()
        if case .unknownFramesAfterHelloRequest = flood {
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        }
        let raw = UInt(bitPattern: context)
        let socket = listener.descriptor
        Thread.detachNewThread { [self] in
            defer { SSL_CTX_free(OpaquePointer(bitPattern: raw)) }
            let client = accept(socket, nil, nil)
            gate?.wait()
            guard client >= 0, let tls = SSL_new(OpaquePointer(bitPattern: raw)) else { return }
            SSL_set_fd(tls, client)
            if case .helloRequests = flood {
                sendHelloRequests(to: client)
            } else if SSL_accept(tls) == 1 {
                switch flood {
                case .keyUpdates: Self.sendKeyUpdates(on: tls)
                case .keyUpdatesWithData:
                    while Self.sendKeyUpdates(on: tls, atMost: 1000), SSL_write(tls, "x", 1) > 0 {}
                case .unknownFrames: Self.sendFrames(on: tls)
                case .unknownFramesAfterHelloRequest:
                    SSL_renegotiate(tls)
                    if SSL_do_handshake(tls) == 1 { Self.sendFrames(on: tls) }
                case .helloRequests: break
                case .pings: sendPings(on: tls)
                }
            }
            SSL_free(tls)
            close(client)
        }
    }

    private func sendHelloRequests(to client: Int32) {
        let record: [UInt8] = [22, 3, 3, 0, 4, 0, 0, 0, 0]
        let records = (0..<7000).flatMap { _ in record }
        while octetsSent < 512 << 20 {
            let count = send(client, records, records.count, Int32(MSG_NOSIGNAL))
            guard count == records.count else { return }
            sent.add(count, ordering: .relaxed)
        }
    }

    private func sendPings(on tls: OpaquePointer) {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        guard SSL_write(tls, settings, 9) > 0 else { return }
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
        var received = [UInt8](repeating: 0, count: 4096)
        while SSL_read(tls, &received, 4096) > 0, SSL_write(tls, ping, Int32(ping.count)) > 0 {
            sent.add(ping.count, ordering: .relaxed)
        }
    }

    @discardableResult
    private static func sendKeyUpdates(on tls: OpaquePointer, atMost most: Int = .max) -> Bool {
        var count = 0
        while count < most, SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED) == 1,
            SSL_do_handshake(tls) == 1
        { count += 1 }
        return count == most
    }

    /// Sends at most 4 GB, so that a test fails, and does not hang, if the client reads all data.
    private static func sendFrames(on tls: OpaquePointer) {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        guard SSL_write(tls, settings, 9) > 0 else { return }
        let frames = (0..<1800).flatMap { _ in [0, 0, 0, 0xF0, 0, 0, 0, 0, 0] as [UInt8] }
        for _ in 0..<250_000 {
            guard SSL_write(tls, frames, Int32(frames.count)) > 0 else { return }
        }
    }
}
