// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS

extension MetricsReport {
    private typealias Row<Thing> = (
        name: String, kind: Exposition.Kind, help: String, value: (Thing) -> UInt64?
    )

    private func write<Thing>(
        _ rows: [Row<Thing>],
        _ prefix: String,
        of things: [Thing],
        to text: inout Exposition,
        _ labels: (Thing) -> Exposition.Labels
    ) {
        for row in rows {
            text.family("httpdnsd_\(prefix)_\(row.name)", row.kind, row.help) { text in
                for thing in things {
                    if let value = row.value(thing) { text.add(labels(thing), value) }
                }
            }
        }
    }

    func writeVendors(to text: inout Exposition) {
        let rows: [Row<VendorStats>] = [
            ("lookups", .counter, "Questions for the vendor", \.lookups),
            ("calls", .counter, "HTTP requests sent", \.calls),
            ("billable_calls", .counter, "Billable requests", \.billableCalls),
            ("billable_names", .counter, "Names in billable requests", \.billableNames),
            ("connections_opened", .counter, "New connections", \.connectionsOpened),
            (
                "connections_reused", .counter, "Requests on a reused connection",
                \.connectionsReused
            ),
        ]
        write(rows, "vendor", of: stats.vendors, to: &text) { ["vendor": $0.name] }
        text.family(
            "httpdnsd_vendor_results",
            .counter,
            "Questions for the vendor by result: answered, empty (no address) or unanswered"
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
        let rows: [Row<VendorStats>] = [
            ("units_today", .gauge, "Billed units of the UTC day, upper bound", \.units?.today),
            ("units_month", .gauge, "Billed units of the month (UTC), upper bound", \.units?.month),
        ]
        write(rows, "vendor", of: stats.vendors, to: &text) { ["vendor": $0.name] }
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
        let rows: [Row<VendorStats>] = [
            ("units_per_day", .gauge, "Budget: units per day (UTC)", \.budget?.unitsPerDay),
            ("units_per_month", .gauge, "Budget: units per month (UTC)", \.budget?.unitsPerMonth),
            ("calls_per_day", .gauge, "Budget: requests per day (UTC)", \.budget?.callsPerDay),
            ("spent_calls", .gauge, "Requests sent today (UTC)", \.budget?.spentToday),
            (
                "calls_beyond", .counter,
                "Requests that the budget blocked or that exceeded the budget",
                \.budget?.beyond
            ),
        ]
        write(rows, "vendor_budget", of: stats.vendors, to: &text) { ["vendor": $0.name] }
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
        let rows: [Row<(name: String, numbers: VendorStatistics)>] = [
            ("calls_in_flight", .gauge, "Requests in flight", { UInt64($0.numbers.inFlight) }),
            ("queued_names", .gauge, "Names waiting for a request", { UInt64($0.numbers.queued) }),
            ("hedges", .counter, "Hedged requests", { $0.numbers.hedges }),
            ("switches", .counter, "Failovers to another server", { $0.numbers.switches }),
            (
                "returns", .counter, "Returns to the first server after a failover",
                { $0.numbers.returns }
            ),
            (
                "dropped_addresses", .counter, "Unusable addresses removed from answers",
                { $0.numbers.droppedAddresses }
            ),
            ("refreshes", .counter, "Successful endpoint refreshes", { $0.numbers.refreshes }),
            (
                "refresh_failures", .counter, "Failed endpoint refreshes",
                { $0.numbers.refreshFailures }
            ),
        ]
        write(rows, "vendor", of: clients, to: &text) { ["vendor": $0.name] }
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
        let all = vendors.flatMap { vendor in vendor.servers.map { (vendor.name, $0) } }
        let servers: [Row<(String, VendorServer)>] = [
            (
                "up", .gauge,
                "1 if the server works; 0 after a failed request, or in a pause after HTTP 429",
                { $0.1.state == .up ? 1 : 0 }
            ),
            ("current", .gauge, "1 for the server that is used first", { $0.1.current ? 1 : 0 }),
            ("calls", .counter, "Requests sent to the server", { $0.1.calls }),
            ("failures", .counter, "Failed requests to the server", { $0.1.failures }),
        ]
        write(servers, "vendor_server", of: all, to: &text) {
            ["vendor": $0.0, "server": $0.1.address]
        }
        text.family(
            "httpdnsd_vendor_server_latency_seconds",
            .gauge,
            "Median duration of a request"
        ) { text in
            for (vendor, server) in all {
                guard let milliseconds = server.latencyMsP50 else { continue }
                text.add(["vendor": vendor, "server": server.address], milliseconds / 1000)
            }
        }
    }

    func writeUpstreams(to text: inout Exposition) {
        let rows: [Row<UpstreamStats>] = [
            ("queries", .counter, "Queries sent", \.queries),
            ("successes", .counter, "Queries answered", \.successes),
            ("tcp_retries", .counter, "Queries retried over TCP", \.tcpRetries),
            (
                "foreign_replies", .counter, "Replies that match no query: forged or late",
                \.foreignReplies
            ),
            (
                "connections_opened", .counter, "New connections; failed attempts are not counted",
                \.connectionsOpened
            ),
            ("connections_reused", .counter, "Queries on a reused connection", \.connectionsReused),
            (
                "protected", .gauge, "1 if the transport is encrypted and authenticated",
                { $0.protected ? 1 : 0 }
            ),
        ]
        write(rows, "upstream", of: stats.upstreams, to: &text) { ["upstream": $0.name] }
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
        let all = upstreams.flatMap { upstream in upstream.servers.map { (upstream.name, $0) } }
        text.family(
            "httpdnsd_upstream_server_state",
            .gauge,
            "1 for the current state of the server"
        ) { text in
            for (upstream, server) in all {
                text.add(
                    [("upstream", upstream), ("server", server.url)],
                    state: server.state,
                    of: [.up, .rests, .loops, .paused].map { ($0, $0.rawValue) }
                )
            }
        }
        let servers: [Row<(String, UpstreamServer)>] = [
            ("queries", .counter, "Queries sent to the server", { $0.1.queries }),
            ("failures", .counter, "Failed queries to the server", { $0.1.failures }),
        ]
        write(servers, "upstream_server", of: all, to: &text) {
            ["upstream": $0.0, "server": $0.1.url]
        }
        text.family(
            "httpdnsd_upstream_server_latency_seconds",
            .gauge,
            "Smoothed latency of the server"
        ) { text in
            for (upstream, server) in all {
                guard let milliseconds = server.latencyMs else { continue }
                text.add(["upstream": upstream, "server": server.url], milliseconds / 1000)
            }
        }
    }
}

extension HealthStatus {
    fileprivate static let all: [(HealthStatus, String)] =
        [.up, .degraded, .down, .paused].map { ($0, $0.rawValue) }
}
