// SPDX-License-Identifier: Apache-2.0

/// Reply to `Dump`; the last reply has no entries.
package struct DumpReply: Codable, Sendable, Equatable {
    package var entries: [CachedEntry]
    package var total: Int

    package init(entries: [CachedEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}

// MARK: - JSON

// Uses a JSONWriter, because Codable takes ten times as long, and a dump can have 500,000 entries.

extension DumpReply: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("entries")
            writer.list(entries) { $1.write(to: &$0) }
            writer.member("total", total)
        }
    }
}

extension CachedEntry: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("age-seconds", ageSeconds)
            writer.member("fleet", fleet)
            writer.member("hits", hits)
            writer.member("name", name)
            writer.member("origin", origin)
            writer.member("origin-server", originServer)
            writer.member("protected", protected)
            writer.member("rcode", rcode)
            writer.name("records")
            writer.list(records) { $0.value($1) }
            writer.member("server", server)
            writer.member("source", source)
            writer.member("stale", stale)
            writer.member("synthesized", synthesized)
            writer.member("ttl-seconds", ttlSeconds)
            writer.member("type", type)
            writer.member("validated", validated)
            writer.member("variant", variant)
        }
    }
}
