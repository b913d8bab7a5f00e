// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSWire
internal import HTTPDNS
internal import Net

extension TopReply<NameCost> {
    /// - Parameter total: number of billed names.
    @ServiceLoop
    init(costliest count: Int, total: UInt64, sinceSeconds: Int, _ state: DaemonState) {
        let routes = state.routeNames
        // The costliest names of all vendors are also among the costliest names of their own
        // vendor.
        let costs = state.vendors.flatMap { vendor in
            vendor.client.costliestNames(count).map { entry in
                NameCost(entry, vendor: vendor.settings.name, routes)
            }
        }
        let order = costs.sorted {
            ($1.calls, $0.name, $0.vendor) < ($0.calls, $1.name, $1.vendor)
        }
        self.init(
            kind: .cost,
            sinceSeconds: sinceSeconds,
            total: total,
            entries: Array(order.prefix(count))
        )
    }
}

extension NameCost {
    init(_ entry: CostTable.Entry, vendor: String, _ routes: RouteNames) {
        self.init(
            name: "\(entry.name)",
            vendor: vendor,
            calls: entry.calls,
            excess: entry.excess,
            units: entry.units,
            route: entry.route,
            domain: routes.domain(entry.route)
        )
    }
}
