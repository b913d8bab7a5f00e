// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Fleet
internal import HTTPDNS
package import Net

/// Exchange of vendors' answers with the other machines of the fleet.
@ServiceLoop
package final class FleetExchange {
    package let fleet: Fleet

    private let views: [String: String]

    /// Setting `group`, which is part of each view (``view(of:_:)``).
    ///
    /// If nil, the view contains instead the network from which the vendor receives this machine's
    /// calls.
    private let group: String?

    private let policy: TTLPolicy

    /// TTL in seconds of stale shared answers.
    let staleTTL: UInt32

    package init(
        _ fleet: Fleet,
        views: [String: String],
        group: String?,
        policy: TTLPolicy,
        staleTTL: UInt32
    ) {
        self.fleet = fleet
        self.views = views
        self.group = group
        self.policy = policy
        self.staleTTL = staleTTL
    }

    /// Returns the *view*: a text with all facts, except the queried name, that determine the
    /// vendor's answers.
    ///
    /// Machines share answers only if their views are equal. Nil if the route does not share
    /// answers, or if `group` is not set and `vendor.exit` is unknown.
    func view(of vendor: VendorClient, _ match: RouteTable.Match) -> String? {
        guard match.route.options.isShared, let view = views[vendor.name],
            let exit = group.map({ "group \($0)" }) ?? vendor.exit.map({ "\($0)" })
        else { return nil }
        var facts = [view, match.route.options.parameters?.text ?? "", exit]
        // A machine applies its own minimum TTL before it shares an answer.
        let minimum = policy.of(match).positive.lowerBound
        if minimum > 0 { facts.append("minimum-ttl \(minimum)") }
        return facts.joined(separator: "\n")
    }

    /// Returns the question to the fleet; nil if the fleet is not used for the query.
    ///
    /// - Parameter patience: maximum time to wait for another machine; nil if no client waits.
    func question(
        _ query: Query,
        _ vendor: VendorClient,
        _ match: RouteTable.Match,
        isAwaited: Bool,
        patience: Duration?
    ) -> Fleet.Question? {
        guard let view = view(of: vendor, match) else { return nil }
        let families = vendor.familiesOfCall(
            query.question.name,
            query.question.families,
            match.route.options.families,
            isAwaited: isAwaited
        )
        return Fleet.Question(
            query.question.name,
            families,
            view: view,
            patience: patience
        )
    }

    /// How the next query for a name would use the fleet; shown by `explain`.
    package enum Outlook: Sendable {
        case asked(SocketAddress, wait: Duration)
        case alone
        case notShared
        case exitUnknown
    }

    func outlook(_ match: RouteTable.Match) -> Outlook {
        guard match.route.options.isShared else { return .notShared }
        guard match.route.vendors.contains(where: { view(of: $0, match) != nil }) else {
            return .exitUnknown
        }
        guard let server = fleet.state.server else { return .alone }
        return .asked(server, wait: fleet.wait)
    }

    func vendor(of view: String, _ match: RouteTable.Match) -> VendorClient? {
        match.route.vendors.first { self.view(of: $0, match) == view }
    }

    // MARK: - Values

    /// Returns the part of a vendor's reply that this machine shares.
    func value(of reply: VendorReply, _ policy: TTLPolicy) -> FleetValue? {
        let answer = reply.answer
        // If an answer with only unusable addresses were shared, other machines would conclude that
        // the name has no address.
        guard !answer.isEmpty || answer.dropped == 0 else { return nil }
        func addresses(_ set: AddressSet?) -> FleetValue.Addresses? {
            set.map { .init($0.addresses, ttl: policy.clamp($0.ttl, to: policy.positive)) }
        }
        var value = FleetValue()
        value.v4 = addresses(answer.v4)
        value.v6 = addresses(answer.v6)
        value.denial = answer.denial
        value.server = (reply.server.octets, reply.server.port)
        return value
    }

    /// Converts a shared value to a vendor's reply, without unusable addresses.
    func reply(_ value: FleetValue, to name: Name) -> VendorReply? {
        guard
            let server = SocketAddress(octets: value.server.address, port: value.server.port)
        else { return nil }
        func set(_ addresses: FleetValue.Addresses?) -> AddressSet? {
            addresses.map { AddressSet(checking: $0.addresses, ttl: $0.ttl) }
        }
        let answer = VendorAnswer(
            name: name,
            v4: set(value.v4),
            v6: set(value.v6),
            denial: value.denial
        )
        let families: Families =
            switch (value.v4, value.v6) {
            case (_?, _?): .both
            case (nil, _?): .v6
            case (_, nil): .v4
            }
        return VendorReply(answer: answer, families: families, server: server)
    }
}
