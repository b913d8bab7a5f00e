// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// Words that a shell completes arguments with.
enum Completions {
    /// The lists of `top`.
    static let lists = TopRequest.Kind.allCases.map(\.rawValue)

    /// The RCODEs of `watch`.
    static let rcodes = [
        "noerror", "nodata", "nxdomain", "servfail", "refused", "formerr", "notimp", "badvers",
    ]

    /// The levels of the log.
    static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// The vendors and upstreams of the running daemon; none if it does not answer within a second.
    static var servers: [String] {
        guard let status = status() else { return [] }
        return status.vendors.map(\.name) + status.upstreams.map(\.name)
    }

    /// The sources of answers: kinds, vendors and upstreams.
    static var sources: [String] {
        ["cache", "stale", "vendor", "upstream", "local", "failed"] + servers
    }

    /// What `flush --source` takes.
    static var flushedSources: [String] { ["vendor", "upstream"] + servers }

    private static func status() -> StatusReply? {
        var client = ControlClient(socket: Product.defaultSocket)
        client.limit = .seconds(1)
        return try? client.call(.status).checked(as: StatusReply.self)
    }
}
