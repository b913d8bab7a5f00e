// SPDX-License-Identifier: Apache-2.0
import Control

enum LookupText {
    static func render(_ reply: LookupReply, _ palette: Palette) -> String {
        var table = Table("NAME", "TYPE", "RCODE", ">TTL", ">AGE", ">HITS", "FROM")
        for entry in reply.entries {
            let server = entry.server.isEmpty ? "" : " " + entry.server
            let label = entry.protected == false ? " (unprotected)" : ""
            let proof = entry.validated ? " (validated)" : ""
            let made = entry.synthesized == true ? " (synthesized)" : ""
            // `any` means all combinations of the flags DO and CD.
            let isCommon = entry.variant.isEmpty || entry.variant == "any"
            let variant = isCommon ? "" : " (queries with \(entry.variant))"
            table.add(
                Table.Cell(entry.name, .heading),
                entry.type,
                Table.Cell(entry.rcode, entry.rcode == "noerror" ? .plain : .doubtful),
                entry.stale
                    ? Table.Cell("stale", .doubtful)
                    : Table.Cell(Units.seconds(entry.ttlSeconds)),
                Units.seconds(entry.ageSeconds),
                Units.count(entry.hits),
                entry.source + server + label + proof + made + variant,
                notes: entry.records
            )
        }
        return table.text(palette)
    }
}
