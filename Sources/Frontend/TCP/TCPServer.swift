// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Logging
package import Net

/// TCP server for one listen address.
@ServiceLoop
package final class TCPServer {
    private let listener: StreamListener
    private let handler: QueryHandler
    private let rules: AccessPolicy
    private let cookies: CookieJar?
    private let clocks: Clocks
    private(set) var sessions: [ObjectIdentifier: (session: TCPSession, client: SocketAddress)] =
        [:]

    package let address: SocketAddress

    /// Creates a server; `cookies` is nil on loopback.
    package init(
        _ listener: StreamListener,
        address: SocketAddress,
        handler: QueryHandler,
        rules: AccessPolicy,
        cookies: CookieJar? = nil,
        clocks: Clocks = .system
    ) {
        self.cookies = cookies
        self.clocks = clocks
        self.listener = listener
        self.address = address
        self.handler = handler
        self.rules = rules
    }

    package func run() async throws(SocketError) {
        while true {
            do throws(SocketError) {
                admit(try await listener.accept())
            } catch .closed {
                return
            }
        }
    }

    /// Stops accepting clients; open sessions continue until `finish`.
    package func stop() {
        listener.close()
    }

    package func rulesChanged() {
        let access = rules.snapshot.access
        for (session, client) in sessions.values {
            session.isAllowed = IPAddress(octets: client.octets).map(access.allows) ?? false
        }
    }

    package func finish() {
        for (session, _) in sessions.values { session.close() }
    }

    // MARK: - Admission

    private func admit(_ stream: StreamConnection) {
        guard let client = stream.peerAddress, let address = IPAddress(octets: client.octets) else {
            stream.close()
            return
        }
        let session = TCPSession(
            stream,
            handler: handler,
            client: address,
            isAllowed: rules.snapshot.access.allows(address),
            cookies: cookies,
            clocks: clocks
        )
        handler.sessions.add(session)
        sessions[ObjectIdentifier(session)] = (session, client)
        ServiceLoop.task { [self] in
            await session.run()
            handler.sessions.remove(session)
            sessions[ObjectIdentifier(session)] = nil
        }
    }
}
