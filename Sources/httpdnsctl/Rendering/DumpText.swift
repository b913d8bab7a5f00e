// SPDX-License-Identifier: Apache-2.0
import Control

enum DumpText {
    static func render(_ entry: CachedEntry) -> String {
        var lines: [(head: String, data: [String])] = []
        for record in entry.records {
            let fields = record.split(separator: " ", maxSplits: 4)
            guard fields.count == 5 else { continue }
            let ttl = entry.stale ? "0" : fields[1]
            let head = "\(fields[0]) \(ttl) \(fields[2]) \(fields[3])"
            if let last = lines.indices.last, lines[last].head == head {
                lines[last].data.append(String(fields[4]))
            } else {
                lines.append((head, [String(fields[4])]))
            }
        }
        if entry.rcode != "noerror" {
            lines.insert(("\(entry.name) \(entry.ttlSeconds) IN \(entry.type)", []), at: 0)
        }
        return lines.map { head, data in
            let isOwn = head.hasPrefix(entry.name + " ")
            let text = head + (data.isEmpty ? "" : " ") + data.joined(separator: ", ")
            let remark = isOwn ? remark(entry) : "part of \(entry.name) \(entry.type)"
            return (isOwn ? "" : "  ") + printable(text) + " ; " + printable(remark) + "\n"
        }.joined()
    }

    private static func remark(_ entry: CachedEntry) -> String {
        var words = [entry.source]
        if !entry.server.isEmpty { words.append(entry.server) }
        if entry.protected == false { words.append("unprotected") }
        if entry.synthesized == true { words.append("synthesized") }
        if entry.validated { words.append("validated") }
        if entry.rcode != "noerror" { words.append(entry.rcode) }
        if entry.stale { words.append("stale") }
        words.append("age=\(entry.ageSeconds)")
        words.append("hits=\(entry.hits)")
        if !entry.variant.isEmpty, entry.variant != "any" { words.append(entry.variant) }
        return words.joined(separator: " ")
    }
}
