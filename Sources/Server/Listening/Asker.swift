// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Who sent a message and how it came: what its answer depends on besides the message itself.
struct Asker: Sendable {
    let transport: QueryTransport

    let address: IPAddress

    /// Whether the access list lets that address ask.
    let isAllowed: Bool

    /// What cookies are made and checked with; nil where there are none.
    var cookies: CookieTerms?

    /// How long the connection may idle, in units of 100 ms; nil over UDP, where the option must
    /// never be sent (RFC 7828 §3.3.2).
    var keepalive: UInt16?

    /// The network that the query counts against.
    ///
    /// - Parameter isProven: whether the query has a valid cookie.  TCP and loopback prove as much.
    func network(isProven: Bool) -> ClientNetwork {
        ClientNetwork(of: address, isProven: isProven || transport == .tcp || address.isLoopback)
    }
}

/// What all cookies of a moment are made and checked with (RFC 9018 §4).
struct CookieTerms: Sendable {
    let secrets: CookieSecrets

    /// Seconds since 1970, modulo 2³².
    let time: UInt32

    /// What there is to say to a client cookie, in network order, and the server cookie with it.
    func verdict(
        on client: UInt64,
        _ server: ServerCookie?,
        of address: IPAddress
    ) -> CookieSecrets.Verdict {
        secrets.verdict(on: server, client: client, address: address, time: time)
    }
}
