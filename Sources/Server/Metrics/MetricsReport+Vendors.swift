// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS

// What is known of vendors and upstreams, each with its name as a label.

extension MetricsReport {
    /// A family of one number a vendor.
    private typealias Row<Thing> = (
        name: String, kind: Exposition.Kind, help: String, value: (Thing) -> UInt64
    )

    func writeVendors(to text: inout Exposition) {
        let rows: [Row<VendorStats>] = [
            ("lookups", .counter, "Look-ups.", \.lookups),
            ("calls", .counter, "HTTP requests sent.", \.calls),
            ("billable_calls", .counter, "Requests that are billed.", \.billableCalls),
            ("billable_names", .counter, "Names in billed requests.", \.billableNames),
            ("connections_opened", .counter, "Connections opened.", \.connectionsOpened),
            (
                "connections_reused", .counter, "Requests on a connection that was open already.",
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
            "Look-ups by what they brought; of unanswered ones the next vendor or the fallback is asked."
        ) { text in
            for vendor in stats.vendors {
                text.add(["vendor": vendor.name, "result": "answered"], vendor.successes)
                text.add(["vendor": vendor.name, "result": "empty"], vendor.empty)
                text.add(["vendor": vendor.name, "result": "unanswered"], vendor.unanswered)
            }
        }
        text.family("httpdnsd_vendor_failures", .counter, "Requests that failed.") { text in
            for vendor in stats.vendors {
                for (kind, count) in vendor.failures.sorted(by: { $0.key < $1.key }) {
                    text.add(["vendor": vendor.name, "kind": kind], count)
                }
            }
        }
        text.family("httpdnsd_vendor_avoided_calls", .counter, "Calls not needed.") { text in
            for vendor in stats.vendors {
                for (reason, count) in vendor.avoided.sorted(by: { $0.key < $1.key }) {
                    text.add(["vendor": vendor.name, "reason": reason], count)
                }
            }
        }
        text.family(
            "httpdnsd_vendor_route_billable_names",
            .counter,
            "Names in billed requests by the routes that sent them."
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
        writeBudgets(to: &text)
    }

    private func writeBudgets(to text: inout Exposition) {
        let rows: [Row<BudgetStatus>] = [
            ("calls_per_day", .gauge, "Calls allowed a day of UTC.", \.callsPerDay),
            ("spent_calls", .gauge, "Calls of the present day of UTC.", \.spentToday),
            ("calls_beyond", .counter, "Calls wanted beyond the budget.", \.beyond),
        ]
        for row in rows {
            text.family("httpdnsd_vendor_budget_\(row.name)", row.kind, row.help) { text in
                for vendor in stats.vendors {
                    if let budget = vendor.budget {
                        text.add(["vendor": vendor.name], row.value(budget))
                    }
                }
            }
        }
    }

    func writeVendorServers(to text: inout Exposition) {
        text.family("httpdnsd_vendor_state", .gauge, "1 for the state the vendor is in.") { text in
            for vendor in vendors {
                text.add([("vendor", vendor.name)], state: vendor.state, of: HealthStatus.all)
            }
        }
        text.family(
            "httpdnsd_vendor_resting",
            .gauge,
            "1 for the reason the vendor is not asked for, if there is one: its breaker."
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
        let rows: [Row<VendorStatistics>] = [
            (
                "calls_in_flight", .gauge, "Requests without an answer so far.",
                { UInt64($0.inFlight) }
            ),
            ("queued_names", .gauge, "Names that wait for a call.", { UInt64($0.queued) }),
            ("hedges", .counter, "Requests sent as the one before was slow.", \.hedges),
            ("switches", .counter, "Times that another server became the first.", \.switches),
            ("returns", .counter, "Times that the preferred server became so again.", \.returns),
            ("dropped_addresses", .counter, "Addresses left out of answers.", \.droppedAddresses),
            ("refreshes", .counter, "Times that it told its servers.", \.refreshes),
            ("refresh_failures", .counter, "Times that it did not.", \.refreshFailures),
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
            "Whether a forged answer is detected."
        ) { text in
            for vendor in vendors { text.add(["vendor": vendor.name], vendor.protected ? 1 : 0) }
        }
        text.family(
            "httpdnsd_vendor_clock_skew_seconds",
            .gauge,
            "How far the vendor's clock is ahead of ours."
        ) { text in
            for vendor in vendors {
                if let skew = vendor.clockSkewSeconds { text.add(["vendor": vendor.name], skew) }
            }
        }
        let servers: [Row<VendorServer>] = [
            (
                "up", .gauge, "Whether the server answered the last request.",
                { $0.state == .up ? 1 : 0 }
            ),
            ("current", .gauge, "Whether it is asked first.", { $0.current ? 1 : 0 }),
            ("calls", .counter, "Requests sent to it.", \.calls),
            ("failures", .counter, "Those of them that failed.", \.failures),
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
            "The median time of a request."
        ) { text in
            forEachVendorServer { vendor, server in
                guard let milliseconds = server.latencyMedian else { return }
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
        let rows: [Row<UpstreamStats>] = [
            ("queries", .counter, "Queries sent.", \.queries),
            ("successes", .counter, "Queries answered.", \.successes),
            ("tcp_retries", .counter, "Queries asked again over TCP.", \.tcpRetries),
            (
                "foreign_replies", .counter, "Messages that answered no query: forged, or late.",
                \.foreignReplies
            ),
            ("connections_opened", .counter, "Connections begun.", \.connectionsOpened),
            ("connections_reused", .counter, "Queries on an open connection.", \.connectionsReused),
            (
                "protected", .gauge, "Whether nobody can change its answers.",
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
        text.family("httpdnsd_upstream_failures", .counter, "Queries that failed.") { text in
            for upstream in stats.upstreams {
                for (kind, count) in upstream.failures.sorted(by: { $0.key < $1.key }) {
                    text.add(["upstream": upstream.name, "kind": kind], count)
                }
            }
        }
        text.family("httpdnsd_upstream_state", .gauge, "1 for the state it is in.") { text in
            for upstream in upstreams {
                text.add([("upstream", upstream.name)], state: upstream.state, of: HealthStatus.all)
            }
        }
        text.family("httpdnsd_upstream_server_state", .gauge, "1 for the server's state.") { text in
            forEachUpstreamServer { upstream, server in
                text.add(
                    [("upstream", upstream), ("server", server.url)],
                    state: server.state,
                    of: [.up, .rests, .loops, .paused].map { ($0, $0.rawValue) }
                )
            }
        }
        let servers: [Row<UpstreamServer>] = [
            ("queries", .counter, "Queries sent to the server.", \.queries),
            ("failures", .counter, "Those of them that failed.", \.failures),
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
            "The smoothed time of its answers."
        ) { text in
            forEachUpstreamServer { upstream, server in
                guard let milliseconds = server.latency else { return }
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
    /// The states that there are, and their names.
    fileprivate static let all: [(HealthStatus, String)] =
        [.up, .degraded, .down, .paused].map { ($0, $0.rawValue) }
}
