// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

enum Completions {
    static let lists = TopRequest.Kind.allCases.map(\.rawValue)
    static let rcodes = [
        "noerror", "nodata", "nxdomain", "servfail", "refused", "formerr", "notimp", "badvers",
    ]

    static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    static var servers: [String] {
        guard let status = status() else { return [] }
        return status.vendors.map(\.name) + status.upstreams.map(\.name)
    }

    static var sources: [String] {
        ["cache", "stale", "vendor", "upstream", "local", "failed"] + servers
    }

    static var flushedSources: [String] { ["vendor", "upstream"] + servers }

    private static func status() -> StatusReply? {
        var client = ControlClient(socket: Product.defaultSocket)
        client.limit = .seconds(1)
        return try? client.call(.status).checked(as: StatusReply.self)
    }
}
