// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Logging
internal import Net

/// Accepts TCP clients on one address; `QueryDesk.sessions` keeps their number within bounds.
@ServiceLoop
final class TCPServer {
    private let listener: StreamListener
    private let desk: QueryDesk
    private let rules: HouseRules
    private let cookies: CookieJar?
    private let clocks: Clocks
    private var sessions: [ObjectIdentifier: (session: TCPSession, client: SocketAddress)] = [:]

    /// Connections open now.
    var connections: Int { sessions.count }

    /// Connections whose clients have not taken all their replies.
    var unreadReplies: Int { sessions.values.count { $0.session.isBlocked } }

    /// The address that is listened on.
    let address: SocketAddress

    /// Makes a server for a bound listener.
    ///
    /// - Parameters:
    ///   - rules: may change while clients are connected.
    ///   - cookies: answers the cookies of clients; nil on loopback.
    ///   - clocks: the time in which the silence of clients is measured.
    init(
        _ listener: StreamListener,
        address: SocketAddress,
        desk: QueryDesk,
        rules: HouseRules,
        cookies: CookieJar? = nil,
        clocks: Clocks = .system
    ) {
        self.cookies = cookies
        self.clocks = clocks
        self.listener = listener
        self.address = address
        self.desk = desk
        self.rules = rules
    }

    /// Accepts clients until `stop` is called.
    func run() async throws(SocketError) {
        while true {
            do throws(SocketError) {
                admit(try await listener.accept())
            } catch .closed {
                return
            }
        }
    }

    /// Accepts no more clients, and lets those that are here finish until `finish`.
    func stop() {
        listener.close()
    }

    /// Asks the rules again who may ask, of those who are connected.
    func rulesChanged() {
        let access = rules.edition.access
        for (session, client) in sessions.values {
            session.isAllowed = IPAddress(octets: client.octets).map(access.allows) ?? false
        }
    }

    /// Ends all sessions.
    func finish() {
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
            desk: desk,
            client: address,
            isAllowed: rules.edition.access.allows(address),
            cookies: cookies,
            clocks: clocks
        )
        desk.sessions.add(session)
        sessions[ObjectIdentifier(session)] = (session, client)
        ServiceLoop.task { [self] in
            await session.run()
            desk.sessions.remove(session)
            sessions[ObjectIdentifier(session)] = nil
        }
    }
}
