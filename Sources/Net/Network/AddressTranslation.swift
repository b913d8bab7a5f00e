// SPDX-License-Identifier: Apache-2.0

/// Translation of IPv4 server addresses to NAT64 addresses, for networks without working IPv4.
@ServiceLoop
package final class AddressTranslation {
    /// Translates IPv4 octets to IPv6 octets, or returns nil.
    package typealias Embedding = @ServiceLoop (_ octets: [UInt8]) -> [UInt8]?

    private let hasRoute: (SocketAddress) -> Bool

    /// True for an IPv4 server that is unreachable although a route exists.
    package var isBroken: @ServiceLoop (SocketAddress) -> Bool = { _ in false }

    private var embed: Embedding?

    var isActive: Bool { embed != nil }

    private var known: [SocketAddress: SocketAddress] = [:]

    /// Limits `known`, which grows with each new server in vendors' replies.
    static let maximumKnown = 1_024

    package init(
        hasRoute: @escaping (SocketAddress) -> Bool = { SocketAddress.source(towards: $0) != nil }
    ) {
        self.hasRoute = hasRoute
    }

    /// Sets the translation, or nil without NAT64; discards earlier results.
    package func use(_ embed: Embedding?) {
        self.embed = embed
        known = [:]
    }

    package func networkChanged() { known = [:] }

    package func address(for server: SocketAddress) -> SocketAddress {
        guard let embed, !server.isIPv6 else { return server }
        if let found = known[server] { return found }
        let translated =
            hasRoute(server) && !isBroken(server)
            ? nil : embed(server.octets).flatMap { SocketAddress(octets: $0, port: server.port) }
        if known.count >= Self.maximumKnown { known = [:] }
        known[server] = translated ?? server
        return translated ?? server
    }
}

package final class TranslatingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let translation: AddressTranslation

    package init(_ transport: any HTTPTransport, _ translation: AddressTranslation) {
        self.transport = transport
        self.translation = translation
    }

    package func send(
        _ request: consuming HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        if translation.isActive {
            if let proxy = request.proxy {
                request.proxy = translation.address(for: proxy)
            } else {
                request.server = translation.address(for: request.server)
            }
        }
        return transport.send(request, deadline: deadline, completion)
    }

    package func reset(only provider: String?) { transport.reset(only: provider) }

    package func replaceConnections(of provider: String) {
        transport.replaceConnections(of: provider)
    }
}
