// SPDX-License-Identifier: Apache-2.0
import Control

enum ResolveText {
    static let heading =
        "NAME                                   TYPE  RCODE        TTL       TOOK  ANSWER\n"

    static func render(_ result: Resolved, _ palette: Palette) -> String {
        let tone: Palette.Tone =
            switch result.rcode {
            case "noerror": .plain
            case "nodata", "nxdomain": .doubtful
            default: .bad
            }
        let ttl = result.ttlSeconds.map { "\($0) s" } ?? "-"
        let took = result.tookUs.map { Units.microseconds(UInt64($0)) } ?? "-"
        let from = result.server.map { "\(result.source) \($0)" } ?? result.source
        let why = result.explanation.map { ": " + $0 } ?? ""
        let line = [
            result.name.padded(38), result.type.padded(5), result.rcode.padded(8),
            ttl.padded(-7), took.padded(-10), " \(from)\(why)",
        ].joined(separator: " ")
        return palette.line(line, tone)
            + result.records.map { palette.line("    " + $0, indent: 6) }.joined()
    }
}
