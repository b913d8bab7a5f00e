// SPDX-License-Identifier: Apache-2.0
import Control

/// What `status` says about upstream resolvers.
enum UpstreamText {
    /// The upstreams, each followed by its servers if there are several.
    static func table(_ upstreams: [UpstreamStatus], _ palette: Palette) -> String {
        var table = Table(
            "UPSTREAM",
            "STATE",
            ">QUERIES",
            ">ANSWERED",
            ">FAILED",
            ">LATENCY",
            "HOW",
            "REMARKS"
        )
        for upstream in upstreams {
            let lone = upstream.servers.count == 1 ? upstream.servers.first : nil
            table.add(
                Table.Cell(upstream.name),
                StatusText.health(upstream.state),
                Table.Cell(Units.count(upstream.calls)),
                Table.Cell(Units.count(upstream.calls - min(upstream.calls, upstream.failures))),
                StatusText.failures(upstream.failures),
                latency(lone?.latency ?? upstream.latencyMedian),
                how(upstream),
                lone.flatMap(rest)
                    ?? StatusText.lastError(upstream.lastError, age: upstream.lastErrorAgeSeconds),
                notes: connections(upstream.servers)
            )
            guard lone == nil else { continue }
            for server in upstream.servers {
                table.add(
                    Table.Cell("  " + server.url),
                    state(server),
                    Table.Cell(Units.count(server.queries)),
                    Table.Cell(Units.count(server.successes)),
                    StatusText.failures(server.failures),
                    latency(server.latency),
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

    /// The URL, and what is to be known of answers that come that way.
    private static func how(_ upstream: UpstreamStatus) -> Table.Cell {
        let labels =
            (upstream.protected ? [] : ["unprotected"]) + (upstream.validates ? ["validates"] : [])
        return Table.Cell(
            upstream.url + (labels.isEmpty ? "" : " (\(labels.joined(separator: ", ")))"),
            upstream.protected ? .plain : .doubtful
        )
    }

    /// A server's state with its colour.
    private static func state(_ server: UpstreamServer) -> Table.Cell {
        switch server.state {
        case .up where server.failures > 0 && server.successes == 0: Table.Cell("no answer", .bad)
        case .up: Table.Cell("up", .good)
        case .rests: Table.Cell("rests", .doubtful)
        case .loops: Table.Cell("LOOPS", .bad)
        case .paused: Table.Cell("paused", .doubtful)
        }
    }

    /// A time in milliseconds, if there is one.
    private static func latency(_ milliseconds: Double?) -> Table.Cell {
        Table.Cell(milliseconds.map(Units.milliseconds) ?? "-")
    }

    /// Why a server is not asked, and until when; nil if it is.
    private static func rest(_ server: UpstreamServer) -> Table.Cell? {
        guard server.state != .up else { return nil }
        let soon = server.forSeconds.map { $0 > 0 ? "in \(Units.seconds($0))" : "now" } ?? "later"
        let reason = server.reason.map { ": \($0)" } ?? ""
        return switch server.state {
        case .loops: Table.Cell("not asked, as it asks this daemon; looked at again \(soon)", .bad)
        case .paused: Table.Cell("paused by an operator, until `httpdnsctl resume`", .doubtful)
        case .rests, .up: Table.Cell("rests, tried again \(soon)\(reason)", .doubtful)
        }
    }

    /// How connections were used, if there were any.
    private static func connections(_ servers: [UpstreamServer]) -> [String] {
        let opened = servers.reduce(0) { $0 &+ $1.connectionsOpened }
        guard opened > 0 else { return [] }
        let reused = servers.reduce(0) { $0 &+ $1.connectionsReused }
        return [
            "connections: \(Units.count(opened)) opened,"
                + " \(Units.count(reused)) queries on one that was open"
        ]
    }
}
