// SPDX-License-Identifier: Apache-2.0
import Control

enum NetworkText {
    static func render(_ network: NetworkStats) -> String {
        let last = network.lastAgeSeconds.map { ", last \(Units.seconds($0)) ago" } ?? ""
        return Units.count(network.changes, "change", "changes") + ", "
            + Units.count(network.resumes, "resume", "resumes") + last
    }

    /// NAT64 prefix with origin and age; nil if the machine has IPv4.
    static func translation(_ network: NetworkStats) -> Table.Cell? {
        guard network.stack == "v6" else { return nil }
        guard let prefix = network.nat64 else {
            return Table.Cell("IPv6 only, no NAT64 prefix known", .doubtful)
        }
        let age = network.nat64AgeSeconds.map { ", since \(Units.seconds($0))" } ?? ""
        return Table.Cell("IPv6 only, NAT64 \(prefix) from \(network.nat64From ?? "?")\(age)")
    }
}
