// SPDX-License-Identifier: Apache-2.0
private import Glibc

// MARK: - Deadlines, and connections without usable replies

extension ConnectionPool {
    func expireOverdue() {
        let now = Clock.now
        for transfer in transfers where transfer.deadline <= now { expire(transfer) }
        deadlines.set(transfers.lazy.map(\.deadline).min())
    }

    /// Ends a transfer at its deadline; a timeout of libcurl would not report the connection.
    ///
    /// A connection is silent if the request was sent in the first half of the time until the
    /// deadline, and no reply data arrived in the second half. The first rule that applies handles
    /// a silent connection:
    ///
    /// - With ``HTTPRequest/keepsSilentConnection``, the connection is marked as possibly dead.
    /// - If the peer has acknowledged nothing since the request was sent, the connection is shut
    ///   down, because libcurl would use it for many minutes. If the request reused the
    ///   connection, the idle connections to this peer are also shut down.
    /// - If the request required a new connection, and the connection has no other request, the
    ///   connection is shut down.
    /// - If no other rule applies, the connection is marked as silent (``isSuspect(_:)``). Possibly
    ///   only this request is slow, because of its name, which a client chose.
    private func expire(_ transfer: Transfer) {
        let isReusing = isKnown(transfer) && transfer.handle?.isReusing ?? false
        let socket = socket(of: transfer)
        let none = Instant(nanoseconds: 0)
        let received = socket?.lastReceived ?? none
        let replied = isReusing ? socket?.lastReply ?? none : received
        // Not `transfer.started`: libcurl may have sent the request later, after a handshake.
        let sent = transfer.handle?.received.sent ?? none
        // If `mayBeDead` is true, the caller repeats the request. A request that may be billed must
        // not be repeated if data has arrived.
        let mayBeDead = isReusing && !(transfer.request.isSentOnce && received > transfer.started)
        let middle = transfer.started + transfer.started.duration(to: Clock.now) / 2
        guard let handle = transfer.handle, handle.transfer === transfer else { return }
        if replied < middle, sent < middle, let socket {
            if transfer.request.keepsSilentConnection {
                sockets.suspect(socket.descriptor, port: socket.port)
            } else if sockets.isDead(socket.descriptor, since: max(sent, transfer.started)) {
                let peer = transfer.request.proxy ?? transfer.request.server
                if isReusing { sockets.shutDownIdle(to: peer) }
                shutdown(socket.descriptor, Int32(SHUT_RDWR))
            } else if transfer.request.wantsFreshConnection,
                !transfers.contains(where: { $0 !== transfer && uses($0, socket.port) })
            {
                shutdown(socket.descriptor, Int32(SHUT_RDWR))
            } else {
                sockets.markSilent(socket.descriptor, socket.port, of: transfer.request.server)
            }
        }
        remove(transfer, handle)
        transfer.end(.failure(.timedOut(reused: mayBeDead)))
    }

    private func uses(_ transfer: Transfer, _ port: UInt16) -> Bool {
        isKnown(transfer) && transfer.handle?.localPort == port
    }

    /// True if a connection to the server is silent or distrusted.
    func isSuspect(_ server: SocketAddress) -> Bool { sockets.isSuspect(server) }

    /// Closes a connection that delivered an unusable reply, or marks it if other requests use it.
    func distrust(_ port: UInt16, of request: HTTPRequest) {
        sockets.distrust(
            port,
            of: request.server,
            at: request.proxy ?? request.server,
            isUsed: transfers.contains { uses($0, port) }
        )
    }

    func doubt(_ port: UInt16, of request: HTTPRequest) {
        sockets.doubt(port, of: request.server, at: request.proxy ?? request.server)
    }

    private func socket(
        of transfer: Transfer
    ) -> (descriptor: Int32, port: UInt16, lastReceived: Instant?, lastReply: Instant?)? {
        guard isKnown(transfer), let port = transfer.handle?.localPort, port != 0 else {
            return nil
        }
        return sockets.all.first { SocketAddress(localOf: $0.key)?.port == port }
            .map { ($0.key, port, $0.value.lastReceived, $0.value.lastReply) }
    }
}
