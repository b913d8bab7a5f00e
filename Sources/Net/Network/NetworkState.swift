// SPDX-License-Identifier: Apache-2.0
private import CLinux

/// Addresses, default routes and interfaces of this machine at one moment.
///
/// Two states describe the same network if ``ways`` and ``defaultRoutes`` are equal.
struct NetworkState: Hashable, Sendable {
    private(set) var addresses: Set<NetworkFact.Address> = []

    private(set) var defaultRoutes: Set<NetworkFact.DefaultRoute> = []

    private(set) var links: [Int32: NetworkFact.Link] = [:]

    static let maximumAddresses = 4096

    /// Usable addresses.
    ///
    /// Excludes addresses of interfaces that are not running (for example without carrier), and
    /// addresses of bridges without a default route.
    var ways: Set<NetworkFact.Address> {
        let uplinks = Set(defaultRoutes.flatMap(\.interfaces))
        return addresses.filter { address in
            guard let link = links[address.index], link.isRunning else { return false }
            return !link.isBridge || uplinks.contains(link.index)
        }
    }

    var interfaces: Set<Int32> {
        Set(addresses.map(\.index)).union(defaultRoutes.flatMap(\.interfaces))
    }
}

// MARK: - Filling

extension NetworkState {
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

    /// Returns true if all usable addresses, or all default routes of a family, are lost.
    ///
    /// The loss may be temporary: at a network change, the kernel first removes the old address.
    func isLess(than old: NetworkState) -> Bool {
        if ways.isEmpty, !old.ways.isEmpty { return true }
        let families = Set(defaultRoutes.map(\.isIPv6))
        return !families.isSuperset(of: old.defaultRoutes.map(\.isIPv6))
    }

    func changes(since old: NetworkState) -> [String] {
        func texts(_ state: NetworkState, but other: NetworkState) -> [String] {
            let addresses = state.ways.subtracting(other.ways).map(state.text)
            let routes = state.defaultRoutes.subtracting(other.defaultRoutes).map(state.text)
            return addresses.sorted() + routes.sorted()
        }
        return texts(old, but: self).map { "lost \($0)" }
            + texts(self, but: old).map { "got \($0)" }
    }

    private func text(_ address: NetworkFact.Address) -> String {
        "\(address.text) on \(name(address.index))"
    }

    private func text(_ route: NetworkFact.DefaultRoute) -> String {
        let names = route.interfaces.map(name)
        let gateway = route.gateway.flatMap { SocketAddress(octets: $0, port: 0)?.host }
        return "default route" + (gateway.map { " via \($0)" } ?? "")
            + (names.isEmpty ? "" : " on \(names.joined(separator: ", "))")
    }

    private func name(_ index: Int32) -> String { links[index]?.name ?? "interface \(index)" }
}
