// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

enum NetworkFact: Hashable {
    case link(Link)
    case address(Address)
    case route(DefaultRoute)

    struct Link: Hashable {
        let index: Int32
        let name: String

        /// True if the interface is up, has a carrier and, if it uses 802.1X, is authenticated.
        let isRunning: Bool

        let isBridge: Bool

        /// VPN interface; false for PPP and mobile modems (`wwan0`), which are usually not VPNs.
        let isTunnel: Bool
    }

    /// Address of this machine that is neither loopback nor link-local.
    struct Address: Hashable {
        let index: Int32

        let octets: [UInt8]
    }

    struct DefaultRoute: Hashable {
        let isIPv6: Bool

        let interfaces: [Int32]

        let gateway: [UInt8]?

        let metric: UInt32

        /// Source address, VIA and hops, only to compare routes.
        let details: [[UInt8]]
    }
}

// MARK: - Reading

extension NetworkFact {
    /// Returns nil if the address or route is unusable, or if the message is not about a link, an
    /// address or a route.
    init?(_ message: NetlinkMessage) throws(NetlinkError) {
        switch Int(message.type) {
        case ROUTE_NEW_LINK, ROUTE_DELETED_LINK:
            self = .link(try Link(message.body))
        case ROUTE_NEW_ADDRESS, ROUTE_DELETED_ADDRESS:
            guard let address = try Address(message.body) else { return nil }
            self = .address(address)
        case ROUTE_NEW_ROUTE, ROUTE_DELETED_ROUTE:
            guard let route = try DefaultRoute(message.body) else { return nil }
            self = .route(route)
        default:
            return nil
        }
    }
}

extension NetworkFact.Link {
    fileprivate init(_ body: NetlinkMessage.Octets) throws(NetlinkError) {
        index = try body.number(at: 4)
        let flags: UInt32 = try body.number(at: 8)
        isRunning = flags & UInt32(ROUTE_LINK_RUNNING) != 0
        let type: UInt16 = try body.number(at: 2)
        var name = ""
        var kind = ""
        for attribute in try NetlinkAttribute.all(in: body.dropFirst(16)) {
            switch Int(attribute.type) {
            case ROUTE_LINK_NAME: name = attribute.text
            case ROUTE_LINK_INFO:
                for part in try NetlinkAttribute.all(in: attribute.value)
                where part.type == ROUTE_LINK_KIND {
                    kind = part.text
                }
            default: break
            }
        }
        self.name = name
        isBridge = kind == "bridge"
        let isModem = ["ww", "rmnet", "mhi"].contains { name.hasPrefix($0) }
        // ARPHRD_NONE, TUNNEL, TUNNEL6, SIT, IPGRE and IP6GRE in <linux/if_arp.h>.
        isTunnel = !isModem && [0xFFFE, 768, 769, 776, 778, 823].contains(type)
    }
}

extension NetworkFact.Address {
    fileprivate init?(_ body: NetlinkMessage.Octets) throws(NetlinkError) {
        let family: UInt8 = try body.number(at: 0)
        var flags = UInt32(try body.number(at: 2) as UInt8)
        let scope: UInt8 = try body.number(at: 3)
        index = try body.number(at: 4)
        guard Int32(family) == AF_INET || Int32(family) == AF_INET6 else { return nil }
        // On a point-to-point interface, ADDRESS is the peer's address.
        var address: NetlinkMessage.Octets?
        var local: NetlinkMessage.Octets?
        for attribute in try NetlinkAttribute.all(in: body.dropFirst(8)) {
            switch Int(attribute.type) {
            case ROUTE_ADDRESS_ADDRESS: address = attribute.value
            case ROUTE_ADDRESS_LOCAL: local = attribute.value
            case ROUTE_ADDRESS_FLAGS: flags = try attribute.value.number(at: 0)
            default: break
            }
        }
        guard let own = local ?? address else { throw .truncated(at: body.endIndex) }
        guard own.count == (Int32(family) == AF_INET ? 4 : 16) else {
            throw .address(at: own.startIndex)
        }
        octets = Array(own)
        let isTentative =
            flags & UInt32(ROUTE_ADDRESS_TENTATIVE) != 0
            && flags & UInt32(ROUTE_ADDRESS_OPTIMISTIC) == 0
        let isDuplicate = flags & UInt32(ROUTE_ADDRESS_DUPLICATE) != 0
        // Manually added addresses often have a wrong scope.
        let isLocal =
            Int(scope) >= ROUTE_SCOPE_LINK || octets.count == 4 && octets.starts(with: [169, 254])
        guard !isTentative, !isDuplicate, !isLocal else { return nil }
    }

    var text: String { SocketAddress(octets: octets, port: 0)?.host ?? "?" }
}

extension NetworkFact.DefaultRoute {
    private static let hopOctets = 8

    fileprivate init?(_ body: NetlinkMessage.Octets) throws(NetlinkError) {
        let family: UInt8 = try body.number(at: 0)
        let length: UInt8 = try body.number(at: 1)
        var table = UInt32(try body.number(at: 4) as UInt8)
        let type: UInt8 = try body.number(at: 7)
        let flags: UInt32 = try body.number(at: 8)
        guard length == 0, type == ROUTE_TYPE_UNICAST, flags & UInt32(ROUTE_FLAG_CLONED) == 0,
            Int32(family) == AF_INET || Int32(family) == AF_INET6
        else { return nil }
        var interfaces: [Int32] = []
        var gateway: [UInt8]?
        var metric: UInt32 = 0
        var details: [[UInt8]] = []
        for attribute in try NetlinkAttribute.all(in: body.dropFirst(12)) {
            switch Int(attribute.type) {
            case ROUTE_ROUTE_INTERFACE: interfaces.append(try attribute.value.number(at: 0))
            case ROUTE_ROUTE_GATEWAY: gateway = Array(attribute.value)
            case ROUTE_ROUTE_PRIORITY: metric = try attribute.value.number(at: 0)
            case ROUTE_ROUTE_TABLE: table = try attribute.value.number(at: 0)
            case ROUTE_ROUTE_SOURCE, ROUTE_ROUTE_VIA: details.append(Array(attribute.value))
            case ROUTE_ROUTE_MULTIPATH:
                details.append(Array(attribute.value))
                interfaces += try Self.interfaces(in: attribute.value)
            default: break
            }
        }
        guard table == ROUTE_TABLE_MAIN else { return nil }
        isIPv6 = Int32(family) == AF_INET6
        self.interfaces = interfaces
        self.gateway = gateway
        self.metric = metric
        self.details = details
    }

    private static func interfaces(
        in octets: NetlinkMessage.Octets
    ) throws(NetlinkError) -> [Int32] {
        try octets.items(head: hopOctets, lengthIn: UInt16.self)
            .map { item throws(NetlinkError) in try item.number(at: 4) }
    }
}
