// SPDX-License-Identifier: Apache-2.0
import Control

enum UpstreamText {
    static func table(_ upstreams: [UpstreamStatus], _ palette: Palette) -> String {
        var table = Table([
            "UPSTREAM", "STATE", ">QUERIES", ">ANSWERED", ">FAILED", ">LATENCY", "URL", "REMARKS",
        ])
        for upstream in upstreams {
            let lone = upstream.servers.count == 1 ? upstream.servers.first : nil
            table.add(
                upstream.name,
                StatusText.health(upstream.state),
                Units.count(upstream.calls),
                Units.count(upstream.calls - min(upstream.calls, upstream.failures)),
                StatusText.failures(upstream.failures),
                latency(lone?.latencyMs ?? upstream.latencyMsP50),
                how(upstream),
                lone.flatMap(rest)
                    ?? StatusText.lastError(upstream.lastError, age: upstream.lastErrorAgeSeconds),
                notes: connections(upstream.servers)
            )
            guard lone == nil else { continue }
            for server in upstream.servers {
                table.add(
                    "  " + server.url,
                    state(server),
                    Units.count(server.queries),
                    Units.count(server.successes),
                    StatusText.failures(server.failures),
                    latency(server.latencyMs),
                    server.protected
                        ? Table.Cell(server.transport)
                        : Table.Cell(server.transport + " (unprotected)", .doubtful),
                    rest(server)
                        ?? StatusText.lastError(server.lastError, age: server.lastErrorAgeSeconds)
                )
            }
        }
        return table.text(palette)
    }

    // MARK: - Cells

    private static func how(_ upstream: UpstreamStatus) -> Table.Cell {
        let labels =
            (upstream.protected ? [] : ["unprotected"])
            + (upstream.validates ? ["validates DNSSEC"] : [])
        return Table.Cell(
            upstream.url + (labels.isEmpty ? "" : " (\(labels.joined(separator: ", ")))"),
            upstream.protected ? .plain : .doubtful
        )
    }

    private static func state(_ server: UpstreamServer) -> Table.Cell {
        switch server.state {
        case .up where server.failures > 0 && server.successes == 0: Table.Cell("no answer", .bad)
        case .up: Table.Cell("up", .good)
        case .rests: Table.Cell("backoff", .doubtful)
        case .loops: Table.Cell("LOOPS", .bad)
        case .paused: Table.Cell("paused", .doubtful)
        }
    }

    private static func latency(_ milliseconds: Double?) -> Table.Cell {
        Table.Cell(milliseconds.map(Units.milliseconds) ?? "-")
    }

    private static func rest(_ server: UpstreamServer) -> Table.Cell? {
        guard server.state != .up else { return nil }
        let soon = server.forSeconds.map { $0 > 0 ? "in \(Units.seconds($0))" : "now" } ?? "later"
        let reason = server.reason.map { "last error: \($0); " } ?? ""
        return switch server.state {
        case .loops: Table.Cell("queries return to this daemon; next check \(soon)", .bad)
        case .paused: Table.Cell("paused by the operator until `httpdnsctl resume`", .doubtful)
        case .rests, .up: Table.Cell("\(reason)next attempt \(soon)", .doubtful)
        }
    }

    private static func connections(_ servers: [UpstreamServer]) -> [String] {
        let opened = servers.reduce(0) { $0 &+ $1.connectionsOpened }
        guard opened > 0 else { return [] }
        let reused = servers.reduce(0) { $0 &+ $1.connectionsReused }
        return [Units.connections(opened, reused)]
    }
}
