// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Foundation
import Synchronization

@testable import Net

/// TLS server that closes each connection on which the client tries to resume a session.
///
/// On other connections, the server sends one octet, and waits until the client closes.
final class TicketRefusingServer: Sendable {
    let address: SocketAddress
    let certificate: ServerCertificate

    var refused: Int { count.load(ordering: .relaxed) }
    private let count = Atomic(0)
    private let listener: ListeningSocket

    init() throws {
        certificate = try ServerCertificate()
        listener = try ListeningSocket()
        address = listener.address
        let context = UInt(bitPattern: try certificate.context())
        Thread.detachNewThread { [self] in
            defer { SSL_CTX_free(OpaquePointer(bitPattern: context)) }
            while serve(OpaquePointer(bitPattern: context)) {}
        }
    }

    private func serve(_ context: OpaquePointer?) -> Bool {
        let client = accept(listener.descriptor, nil, nil)
        guard client >= 0 else { return false }
        defer { close(client) }
        guard !Self.resumes(client) else {
            count.add(1, ordering: .relaxed)
            return true
        }
        guard let tls = SSL_new(context) else { return false }
        defer { SSL_free(tls) }
        SSL_set_fd(tls, client)
        guard SSL_accept(tls) == 1 else { return true }
        var octet: UInt8 = 120
        SSL_write(tls, &octet, 1)
        SSL_read(tls, &octet, 1)
        return true
    }

    /// True if the last extension of the ClientHello is pre_shared_key (RFC 8446 §4.2.11).
    private static func resumes(_ client: Int32) -> Bool {
        var hello = [UInt8](repeating: 0, count: 5)
        guard recv(client, &hello, 5, Int32(MSG_PEEK | MSG_WAITALL)) == 5 else { return false }
        let count = 5 + Int(hello[3]) << 8 + Int(hello[4])
        hello = [UInt8](repeating: 0, count: count)
        guard recv(client, &hello, count, Int32(MSG_PEEK | MSG_WAITALL)) == count else {
            return false
        }
        func length(_ place: Int) -> Int { Int(hello[place]) << 8 + Int(hello[place + 1]) }
        // Record, handshake header, version and random; then session ID, suites and compression.
        var place = 5 + 4 + 2 + 32
        place += 1 + Int(hello[place])
        place += 2 + length(place)
        place += 1 + Int(hello[place]) + 2
        var last = 0
        while place + 4 <= count {
            last = length(place)
            place += 4 + length(place + 2)
        }
        return last == 41
    }
}
