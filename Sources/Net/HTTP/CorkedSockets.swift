// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// TCP sockets of libcurl, whose writes share packets until the end of a libcurl call.
///
/// libcurl writes each request at once, and the body of a POST separately. Without TCP_CORK, each
/// write is a packet, and wakes the server.
///
/// Not isolated, because C code calls it, on the service loop.
final class CorkedSockets {
    private struct Socket {
        let descriptor: Int32

        /// Local port; 0 until the first request.
        var port: UInt16 = 0

        var hasRequest = false
        var isCorked = false
    }

    private var sockets: [Socket] = []

    /// True if libcurl has sent a request in the current call.
    private var isActive = false

    func opened(_ descriptor: Int32) {
        closed(descriptor)
        sockets.append(Socket(descriptor: descriptor))
    }

    func closed(_ descriptor: Int32) { sockets.removeAll { $0.descriptor == descriptor } }

    /// Records that libcurl is about to send a request on the connection with this local port.
    ///
    /// If the first request of a call has no body, its one write is sent immediately.
    func noteRequest(from port: UInt16, hasBody: Bool) {
        guard let index = index(of: port), !sockets[index].isCorked else { return }
        isActive = true
        if hasBody || sockets[index].hasRequest {
            sockets[index].isCorked = linux_cork(sockets[index].descriptor, 1) == 0
        }
        sockets[index].hasRequest = true
    }

    /// Sends the octets that the corked sockets hold back.
    func uncork() {
        guard isActive else { return }
        isActive = false
        for index in sockets.indices where sockets[index].hasRequest {
            if sockets[index].isCorked { linux_cork(sockets[index].descriptor, 0) }
            sockets[index].isCorked = false
            sockets[index].hasRequest = false
        }
    }

    private func index(of port: UInt16) -> Int? {
        if let index = sockets.firstIndex(where: { $0.port == port }) { return index }
        for index in sockets.indices where sockets[index].port == 0 {
            sockets[index].port = SocketAddress(localOf: sockets[index].descriptor)?.port ?? 0
            if sockets[index].port == port { return index }
        }
        return nil
    }
}
