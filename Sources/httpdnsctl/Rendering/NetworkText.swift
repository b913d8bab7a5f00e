// SPDX-License-Identifier: Apache-2.0
import Control

/// What `status` and `stats` say of the network.
enum NetworkText {
    /// How often it was another one, how often the machine had slept, and when last.
    static func render(_ network: NetworkStats) -> String {
        let last = network.lastAgeSeconds.map { ", the latest \(Units.seconds($0)) ago" } ?? ""
        return Units.count(network.changes, "change", "changes") + ", "
            + Units.count(network.resumes, "resume", "resumes") + last
    }
}
