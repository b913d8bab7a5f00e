// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS

extension MetricsReport {
    private typealias Row<Thing, Value> = (
        name: String, kind: Exposition.Kind, help: String, value: (Thing) -> Value
    )

    func writeVendors(to text: inout Exposition) {
        let rows: [Row<VendorStats, UInt64>] = [
            ("lookups", .counter, "Lookups", \.lookups),
            ("calls", .counter, "HTTP requests sent", \.calls),
            ("billable_calls", .counter, "Billable requests", \.billableCalls),
            ("billable_names", .counter, "Names in billable requests", \.billableNames),
            ("connections_opened", .counter, "New connections", \.connectionsOpened),
            (
                "connections_reused", .counter, "Requests on a reused connection",
                \.connectionsReused
            ),
        ]
        for row in rows {
            text.family("httpdnsd_vendor_\(row.name)", row.kind, row.help) { text in
                for vendor in stats.vendors { text.add(["vendor": vendor.name], row.value(vendor)) }
            }
        }
        text.family(
            "httpdnsd_vendor_results",
            .counter,
            "Lookups by result; the next vendor or the fallback gets unanswered lookups"
        ) { text in
            for vendor in stats.vendors {
                text.add(["vendor": vendor.name, "result": "answered"], vendor.successes)
                text.add(["vendor": vendor.name, "result": "empty"], vendor.empty)
                text.add(["vendor": vendor.name, "result": "unanswered"], vendor.unanswered)
            }
        }
        text.family("httpdnsd_vendor_failures", .counter, "Failed requests by kind") { text in
            for vendor in stats.vendors {
                for (kind, count) in vendor.failures.sorted(by: { $0.key < $1.key }) {
                    text.add(["vendor": vendor.name, "kind": kind], count)
                }
            }
        }
        text.family("httpdnsd_vendor_avoided_calls", .counter, "Requests avoided, by reason") {
            text in
            for vendor in stats.vendors {
                for (reason, count) in vendor.avoided.sorted(by: { $0.key < $1.key }) {
                    text.add(["vendor": vendor.name, "reason": reason], count)
                }
            }
        }
        text.family(
            "httpdnsd_vendor_route_billable_names",
            .counter,
            "Names in billable requests by route"
        ) { text in
            for vendor in stats.vendors {
                for cost in vendor.routes {
                    text.add(
                        ["vendor": vendor.name, "route": cost.route, "domain": cost.domain],
                        cost.names
                    )
                }
            }
        }
        writeUnits(to: &text)
        writeBudgets(to: &text)
    }

    private func writeUnits(to text: inout Exposition) {
        text.family("httpdnsd_vendor_units", .counter, "Billed units, lower and upper bound") {
            text in
            for vendor in stats.vendors {
                guard let units = vendor.units else { continue }
                text.add(["vendor": vendor.name, "bound": "at-least"], units.atLeast)
                text.add(["vendor": vendor.name, "bound": "at-most"], units.atMost)
            }
        }
        let rows: [Row<BilledUnits, UInt64?>] = [
            ("units_today", .gauge, "Billed units of the UTC day, upper bound", \.today),
            ("units_month", .gauge, "Billed units of the month (UTC), upper bound", \.month),
        ]
        for row in rows {
            text.family("httpdnsd_vendor_\(row.name)", row.kind, row.help) { text in
                for vendor in stats.vendors {
                    if let value = vendor.units.flatMap(row.value) {
                        text.add(["vendor": vendor.name], value)
                    }
                }
            }
        }
        text.family("httpdnsd_vendor_month_cost", .gauge, "Cost of the month (UTC), in `currency`")
        {
            text in
            for vendor in stats.vendors {
                guard let cost = vendor.cost else { continue }
                text.add(["vendor": vendor.name, "currency": cost.currency], cost.amount)
            }
        }
    }

    private func writeBudgets(to text: inout Exposition) {
        let rows: [Row<BudgetStatus, UInt64?>] = [
            ("units_per_day", .gauge, "Budget: units per day (UTC)", \.unitsPerDay),
            ("units_per_month", .gauge, "Budget: units per month (UTC)", \.unitsPerMonth),
            ("calls_per_day", .gauge, "Budget: requests per day (UTC)", \.callsPerDay),
            ("spent_calls", .gauge, "Requests sent today (UTC)", { $0.spentToday }),
            (
                "calls_beyond", .counter, "Requests that the budget blocked, or that exceeded it",
                { $0.beyond }
            ),
        ]
        for row in rows {
            text.family("httpdnsd_vendor_budget_\(row.name)", row.kind, row.help) { text in
                for vendor in stats.vendors {
                    if let value = vendor.budget.flatMap(row.value) {
                        text.add(["vendor": vendor.name], value)
                    }
                }
            }
        }
    }

    func writeVendorServers(to text: inout Exposition) {
        text.family("httpdnsd_vendor_state", .gauge, "1 for the current state of the vendor") {
            text in
            for vendor in vendors {
                text.add([("vendor", vendor.name)], state: vendor.state, of: HealthStatus.all)
            }
        }
        text.family(
            "httpdnsd_vendor_resting",
            .gauge,
            "1 for the current reason why the vendor is not called"
        ) { text in
            for vendor in vendors {
                text.add(
                    [("vendor", vendor.name)],
                    state: vendor.rest?.by,
                    of: [.operator, .account, .limit, .budget].map { ($0, $0.rawValue) },
                    as: "reason"
                )
            }
        }
        let rows: [Row<VendorStatistics, UInt64>] = [
            (
                "calls_in_flight", .gauge, "Requests in flight",
                { UInt64($0.inFlight) }
            ),
            ("queued_names", .gauge, "Names waiting for a request", { UInt64($0.queued) }),
            ("hedges", .counter, "Hedged requests", \.hedges),
            ("switches", .counter, "Failovers to another server", \.switches),
            ("returns", .counter, "Returns to the preferred server", \.returns),
            (
                "dropped_addresses", .counter, "Unusable addresses removed from answers",
                \.droppedAddresses
            ),
            ("refreshes", .counter, "Successful endpoint refreshes", \.refreshes),
            ("refresh_failures", .counter, "Failed endpoint refreshes", \.refreshFailures),
        ]
        for row in rows {
            text.family("httpdnsd_vendor_\(row.name)", row.kind, row.help) { text in
                for client in clients {
                    text.add(["vendor": client.name], row.value(client.numbers))
                }
            }
        }
        text.family(
            "httpdnsd_vendor_protected",
            .gauge,
            "1 if the channel detects forged answers"
        ) { text in
            for vendor in vendors { text.add(["vendor": vendor.name], vendor.protected ? 1 : 0) }
        }
        text.family(
            "httpdnsd_vendor_clock_skew_seconds",
            .gauge,
            "Clock of the vendor minus clock of this machine"
        ) { text in
            for vendor in vendors {
                if let skew = vendor.clockSkewSeconds { text.add(["vendor": vendor.name], skew) }
            }
        }
        let servers: [Row<VendorServer, UInt64>] = [
            (
                "up", .gauge, "1 if the server answered the last request",
                { $0.state == .up ? 1 : 0 }
            ),
            ("current", .gauge, "1 for the server that is used first", { $0.current ? 1 : 0 }),
            ("calls", .counter, "Requests sent to the server", \.calls),
            ("failures", .counter, "Failed requests to the server", \.failures),
        ]
        for row in servers {
            text.family("httpdnsd_vendor_server_\(row.name)", row.kind, row.help) { text in
                forEachVendorServer {
                    text.add(["vendor": $0, "server": $1.address], row.value($1))
                }
            }
        }
        text.family(
            "httpdnsd_vendor_server_latency_seconds",
            .gauge,
            "Median duration of a request"
        ) { text in
            forEachVendorServer { vendor, server in
                guard let milliseconds = server.latencyMsP50 else { return }
                text.add(["vendor": vendor, "server": server.address], milliseconds / 1000)
            }
        }
    }

    private func forEachVendorServer(_ body: (String, VendorServer) -> Void) {
        for vendor in vendors {
            for server in vendor.servers { body(vendor.name, server) }
        }
    }

    func writeUpstreams(to text: inout Exposition) {
        let rows: [Row<UpstreamStats, UInt64>] = [
            ("queries", .counter, "Queries sent", \.queries),
            ("successes", .counter, "Queries answered", \.successes),
            ("tcp_retries", .counter, "Queries retried over TCP", \.tcpRetries),
            (
                "foreign_replies", .counter, "Replies that match no query: forged or late",
                \.foreignReplies
            ),
            (
                "connections_opened", .counter, "New connections, including failed attempts",
                \.connectionsOpened
            ),
            ("connections_reused", .counter, "Queries on a reused connection", \.connectionsReused),
            (
                "protected", .gauge, "1 if the transport is encrypted and authenticated",
                { $0.protected ? 1 : 0 }
            ),
        ]
        for row in rows {
            text.family("httpdnsd_upstream_\(row.name)", row.kind, row.help) { text in
                for upstream in stats.upstreams {
                    text.add(["upstream": upstream.name], row.value(upstream))
                }
            }
        }
        text.family("httpdnsd_upstream_failures", .counter, "Failed queries by kind") { text in
            for upstream in stats.upstreams {
                for (kind, count) in upstream.failures.sorted(by: { $0.key < $1.key }) {
                    text.add(["upstream": upstream.name, "kind": kind], count)
                }
            }
        }
        text.family("httpdnsd_upstream_state", .gauge, "1 for the current state of the upstream") {
            text in
            for upstream in upstreams {
                text.add([("upstream", upstream.name)], state: upstream.state, of: HealthStatus.all)
            }
        }
        text.family(
            "httpdnsd_upstream_server_state",
            .gauge,
            "1 for the current state of the server"
        ) { text in
            forEachUpstreamServer { upstream, server in
                text.add(
                    [("upstream", upstream), ("server", server.url)],
                    state: server.state,
                    of: [.up, .rests, .loops, .paused].map { ($0, $0.rawValue) }
                )
            }
        }
        let servers: [Row<UpstreamServer, UInt64>] = [
            ("queries", .counter, "Queries sent to the server", \.queries),
            ("failures", .counter, "Failed queries to the server", \.failures),
        ]
        for row in servers {
            text.family("httpdnsd_upstream_server_\(row.name)", row.kind, row.help) { text in
                forEachUpstreamServer {
                    text.add(["upstream": $0, "server": $1.url], row.value($1))
                }
            }
        }
        text.family(
            "httpdnsd_upstream_server_latency_seconds",
            .gauge,
            "Smoothed latency of the server"
        ) { text in
            forEachUpstreamServer { upstream, server in
                guard let milliseconds = server.latencyMs else { return }
                text.add(["upstream": upstream, "server": server.url], milliseconds / 1000)
            }
        }
    }

    private func forEachUpstreamServer(_ body: (String, UpstreamServer) -> Void) {
        for upstream in upstreams {
            for server in upstream.servers { body(upstream.name, server) }
        }
    }
}

extension HealthStatus {
    fileprivate static let all: [(HealthStatus, String)] =
        [.up, .degraded, .down, .paused].map { ($0, $0.rawValue) }
}
