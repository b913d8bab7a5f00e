// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Client and transport of one message.
package struct ClientContext: Sendable {
    let transport: QueryTransport

    let address: IPAddress

    let isAllowed: Bool

    var cookies: CookieTerms?

    var keepalive: UInt16?

    /// Returns the group of clients to which the limits apply; TCP and loopback clients are proven.
    func network(isProven: Bool) -> ClientNetwork {
        ClientNetwork(of: address, over: transport, isProven: isProven)
    }
}

extension ClientNetwork {
    init(of address: IPAddress, over transport: QueryTransport, isProven: Bool) {
        let isProven = isProven || transport == .tcp || address.isLoopback
        self.init(of: address, isProven: isProven)
    }
}

/// Secrets and time for DNS cookies (RFC 9018 §4).
struct CookieTerms: Sendable {
    let secrets: CookieSecrets

    let time: UInt32

    func decision(
        on client: UInt64,
        _ server: ServerCookie?,
        of address: IPAddress
    ) -> CookieSecrets.Decision {
        secrets.decision(on: server, client: client, address: address, time: time)
    }
}
