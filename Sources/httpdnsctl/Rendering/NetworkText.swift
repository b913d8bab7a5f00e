// SPDX-License-Identifier: Apache-2.0
import Control

enum NetworkText {
    static func render(_ network: NetworkStats) -> String {
        let last = network.lastAgeSeconds.map { ", last \(Units.seconds($0)) ago" } ?? ""
        return Units.count(network.changes, "network change", "network changes") + ", "
            + Units.count(network.resumes, "wake-up", "wake-ups") + " from suspend" + last
    }

    static func resolvers(_ network: NetworkStats) -> Table.Cell? {
        let servers = network.servers ?? []
        let domains = (network.domains ?? []).map { domain in
            let servers =
                domain.servers.isEmpty ? "no server" : domain.servers.joined(separator: " ")
            return "\(domain.domain) (\(domain.link): \(servers))"
        }
        guard !servers.isEmpty || !domains.isEmpty else { return nil }
        let all = [servers.isEmpty ? "no server" : servers.joined(separator: " ")] + domains
        return Table.Cell(all.joined(separator: ", "))
    }

    static func portal(_ network: NetworkStats) -> Table.Cell? {
        network.portalSeconds.map { seconds in
            let time = Units.seconds(seconds)
            return Table.Cell(
                "on for another \(time): nearly all queries go to the network's servers",
                .doubtful
            )
        }
    }

    static func translation(_ network: NetworkStats) -> Table.Cell? {
        guard network.stack == "v6" else { return nil }
        guard let prefix = network.nat64 else {
            return Table.Cell("IPv6 only, no NAT64 prefix known", .doubtful)
        }
        let age = network.nat64AgeSeconds.map { ", known for \(Units.seconds($0))" } ?? ""
        return Table.Cell("IPv6 only, NAT64 \(prefix) from \(network.nat64From ?? "?")\(age)")
    }
}
