// SPDX-License-Identifier: Apache-2.0
import Control

enum NetworkText {
    static func render(_ network: NetworkStats) -> String {
        let last = network.lastAgeSeconds.map { ", last \(Units.seconds($0)) ago" } ?? ""
        return Units.count(network.changes, "change", "changes") + ", "
            + Units.count(network.resumes, "resume", "resumes") + last
    }
}
