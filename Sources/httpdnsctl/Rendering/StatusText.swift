// SPDX-License-Identifier: Apache-2.0
import Control

enum StatusText {
    static func render(_ status: StatusReply, _ palette: Palette) -> String {
        [
            summary(status, palette),
            vendors(status.vendors, palette),
            UpstreamText.table(status.upstreams, palette),
            problems(status.problems, palette),
        ]
        .filter { !$0.isEmpty }
        .joined(separator: "\n")
    }

    // MARK: - Parts

    private static func summary(_ status: StatusReply, _ palette: Palette) -> String {
        let state = palette.paint(status.state.rawValue.uppercased(), tone(status.state))
        var table = Table("", "")
        table.add("listening", listeners(status.listeners))
        table.add("resolv.conf", resolvConf(status.resolvConf))
        table.add("cache", cache(status.cache))
        if let snapshot = status.cache.snapshot {
            table.add("snapshot", SnapshotText.cell(snapshot, showsError: false))
        }
        if let acceleration = status.acceleration {
            table.add("acceleration", AccelerationText.cell(acceleration))
        }
        if status.network.lastAgeSeconds != nil {
            table.add("network", NetworkText.render(status.network))
        }
        if let resolvers = NetworkText.resolvers(status.network) {
            table.add("network DNS", resolvers)
        }
        if let portal = NetworkText.portal(status.network) { table.add("portal mode", portal) }
        if let fleet = status.fleet, fleet.state != .off {
            table.add("fleet", FleetText.cell(fleet))
        }
        if let translation = NetworkText.translation(status.network) {
            table.add("families", translation)
        }
        return "\(Product.name) \(printable(status.version))  \(state)"
            + "  up \(Units.seconds(status.uptimeSeconds))  pid \(status.pid)\n"
            + table.text(palette)
    }

    private static func listeners(_ listeners: [ListenerStatus]) -> Table.Cell {
        guard !listeners.isEmpty else { return Table.Cell("none", .bad) }
        var groups: [(address: String, origin: String, transports: [String])] = []
        for listener in listeners {
            let known = groups.firstIndex {
                $0.address == listener.address && $0.origin == listener.origin
            }
            if let known {
                groups[known].transports.append(listener.transport)
            } else {
                groups.append((listener.address, listener.origin, [listener.transport]))
            }
        }
        let texts = groups.map { group in
            let origin = group.origin == "settings" ? "" : ", \(group.origin)"
            return "\(group.address) (\(group.transports.joined(separator: "+"))\(origin))"
        }
        return Table.Cell(texts.joined(separator: "  "))
    }

    private static func resolvConf(_ finding: ResolvConf) -> Table.Cell {
        let servers = finding.nameservers.joined(separator: ", ")
        let list = servers.isEmpty ? "no nameserver" : servers
        let through = list + (finding.by.map { ", through \($0)" } ?? "")
        return switch finding.pointsHere {
        case true:
            Table.Cell("points to the daemon (\(through))", .good)
        case false: Table.Cell("points to other servers (\(list))", .doubtful)
        case nil: Table.Cell("could not be read", .doubtful)
        }
    }

    private static func cache(_ usage: CacheUsage) -> Table.Cell {
        Table.Cell(
            "\(Units.count(usage.entries, "entry", "entries")), \(Units.octets(usage.octets))"
                + " of \(Units.octets(usage.limitOctets))"
                + " (\(Units.percent(usage.octets, of: usage.limitOctets)))"
        )
    }

    private static func vendors(_ vendors: [VendorStatus], _ palette: Palette) -> String {
        var table = Table([
            "VENDOR", "STATE", ">CALLS", ">FAILED", ">MEDIAN", ">BILLABLE", "KIND, CHANNEL",
            "REMARKS",
        ])
        for vendor in vendors {
            table.add(
                vendor.name,
                health(vendor.state),
                Units.count(vendor.calls),
                "",
                "",
                Units.count(vendor.billableCalls),
                vendor.protected
                    ? Table.Cell(channel(of: vendor))
                    : Table.Cell("\(channel(of: vendor)) (unprotected)", .doubtful),
                clock(vendor),
                notes: notes(vendor)
            )
            for server in vendor.servers {
                table.add(
                    "  " + server.address,
                    health(server.state),
                    Units.count(server.calls),
                    failures(server.failures),
                    server.latencyMsP50.map(Units.milliseconds) ?? "-",
                    "",
                    server.current ? "used first" : "",
                    lastError(server.lastError, age: server.lastErrorAgeSeconds)
                )
            }
        }
        return table.text(palette)
    }

    private static func channel(of vendor: VendorStatus) -> String {
        "\(vendor.kind), \(vendor.channel)"
    }

    private static func notes(_ vendor: VendorStatus) -> [String] {
        var notes: [String] = []
        // The line about the budget already reports a problem with the budget.
        if let rest = vendor.rest, rest.by != .budget || vendor.budget?.problem == nil {
            notes.append(VendorText.rest(rest, of: vendor.name))
        }
        if let budget = vendor.budget { notes.append(VendorText.budget(budget)) }
        if let units = vendor.units { notes.append(VendorText.units(units, vendor.cost)) }
        if let client = vendor.clientAddress { notes.append("client address: \(client)") }
        if vendor.connectionsOpened > 0 {
            notes.append(Units.connections(vendor.connectionsOpened, vendor.connectionsReused))
        }
        if let refresh = vendor.refresh { notes.append(VendorText.refresh(refresh)) }
        return notes
    }

    private static func problems(_ problems: [String], _ palette: Palette) -> String {
        guard !problems.isEmpty else { return "" }
        return palette.paint("PROBLEMS", .heading) + "\n"
            + problems.map { palette.line("  " + $0, .bad) }.joined()
    }

    // MARK: - Cells

    private static func tone(_ state: StatusReply.State) -> Palette.Tone {
        switch state {
        case .ready: .good
        case .starting, .stopping: .doubtful
        case .degraded: .bad
        }
    }

    static func health(_ health: HealthStatus) -> Table.Cell {
        switch health {
        case .up: Table.Cell("up", .good)
        case .degraded: Table.Cell("degraded", .doubtful)
        case .down: Table.Cell("DOWN", .bad)
        case .paused: Table.Cell("paused", .doubtful)
        }
    }

    static func failures(_ count: UInt64) -> Table.Cell {
        Table.Cell(Units.count(count), count == 0 ? .plain : .doubtful)
    }

    static func lastError(_ error: String?, age: Int?) -> Table.Cell {
        guard let error else { return "" }
        return Table.Cell("last error: " + error + (age.map { ", \(Units.seconds($0)) ago" } ?? ""))
    }

    private static func clock(_ vendor: VendorStatus) -> Table.Cell {
        let refused = vendor.refusedClockSkewSeconds
        guard let seconds = refused ?? vendor.clockSkewSeconds, seconds != 0 else { return "" }
        let direction = seconds > 0 ? "ahead of" : "behind"
        let text = "vendor clock \(Units.seconds(abs(seconds))) \(direction) this machine"
        return Table.Cell(
            refused == nil ? text : text + ": too much to correct, check NTP",
            .doubtful
        )
    }
}
