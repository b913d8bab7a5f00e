// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// What of this machine decides how others are reached, at one moment.
///
/// Two of them that are equal in ``ways`` and ``defaultRoutes`` are the same network, whatever
/// happened in between; what is known beyond that tells which notifications are news.
struct NetworkState: Hashable, Sendable {
    /// The addresses that others can answer to, on whatever interface.
    private(set) var addresses: Set<NetworkFact.Address> = []

    /// The routes to everywhere.
    private(set) var defaultRoutes: Set<NetworkFact.DefaultRoute> = []

    /// The interfaces that have an address or a route, by index.
    private(set) var links: [Int32: NetworkFact.Link] = [:]

    /// Addresses that are kept at most; of more, any are.
    static let maximumAddresses = 4096

    /// The addresses by which this machine can be reached from elsewhere just now.
    ///
    /// Not those on interfaces that carry nothing, and not those on a bridge through which no default
    /// route leads: containers and virtual machines are behind it, and with them it comes, goes, and
    /// finds and loses its carrier.
    var ways: Set<NetworkFact.Address> {
        let uplinks = Set(defaultRoutes.flatMap(\.interfaces))
        return addresses.filter { address in
            guard let link = links[address.index], link.isRunning else { return false }
            return !link.isBridge || uplinks.contains(link.index)
        }
    }

    /// The interfaces that have an address or a default route.
    var interfaces: Set<Int32> {
        Set(addresses.map(\.index)).union(defaultRoutes.flatMap(\.interfaces))
    }
}

// MARK: - Filling

extension NetworkState {
    /// Takes in what the kernel says that there is.
    mutating func note(_ fact: NetworkFact) {
        switch fact {
        case .link(let link):
            links[link.index] = link
        case .address(let address):
            if addresses.count < Self.maximumAddresses { addresses.insert(address) }
        case .route(let route):
            defaultRoutes.insert(route)
        }
    }
}

// MARK: - Comparing

extension NetworkState {
    /// Whether the notification `message` says something that is not known here.
    ///
    /// An address whose lifetime is renewed, a wireless link that tells how strong its signal is,
    /// and an interface of a container that comes or goes are not: so they cost no further look.
    ///
    /// - Throws: `NetlinkError`.
    func isNews(_ message: NetlinkMessage) throws(NetlinkError) -> Bool {
        let isEnd = [ROUTE_DELETED_LINK, ROUTE_DELETED_ADDRESS, ROUTE_DELETED_ROUTE]
            .contains(Int(message.type))
        switch try NetworkFact(message) {
        case .link(let link):
            guard let known = links[link.index] else { return false }
            return isEnd || known != link
        case .address(let address):
            return addresses.contains(address) == isEnd
        case .route(let route):
            return defaultRoutes.contains(route) == isEnd
        case nil:
            return false
        }
    }

    /// Whether something is missing without which `old` reached nobody, and which may be on its way.
    ///
    /// Who takes an address away gives another one in the next moment, and routes in the one after.
    func isLess(than old: NetworkState) -> Bool {
        if ways.isEmpty, !old.ways.isEmpty { return true }
        let families = Set(defaultRoutes.map(\.isIPv6))
        return !families.isSuperset(of: old.defaultRoutes.map(\.isIPv6))
    }

    /// What is another way than it was in `old`, each in a few words; empty if nothing is.
    func changes(since old: NetworkState) -> [String] {
        func texts(_ state: NetworkState, but other: NetworkState) -> [String] {
            let addresses = state.ways.subtracting(other.ways).map(state.text)
            let routes = state.defaultRoutes.subtracting(other.defaultRoutes).map(state.text)
            return addresses.sorted() + routes.sorted()
        }
        return texts(old, but: self).map { "lost \($0)" }
            + texts(self, but: old).map { "got \($0)" }
    }

    /// An address in words.
    private func text(_ address: NetworkFact.Address) -> String {
        "\(address.text) on \(name(address.index))"
    }

    /// A default route in words.
    private func text(_ route: NetworkFact.DefaultRoute) -> String {
        let names = route.interfaces.map(name)
        let gateway = route.gateway.flatMap { SocketAddress(octets: $0, port: 0)?.host }
        return "default route" + (gateway.map { " via \($0)" } ?? "")
            + (names.isEmpty ? "" : " on \(names.joined(separator: ", "))")
    }

    /// The name of an interface, or its number if it is gone.
    private func name(_ index: Int32) -> String { links[index]?.name ?? "interface \(index)" }
}
