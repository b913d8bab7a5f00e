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

// Without Codable, which takes ten times as long: a dump can have 500,000 entries.

extension DumpReply: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("entries")
            writer.list(entries) { $1.write(to: &$0) }
            writer.name("total")
            writer.value(total)
        }
    }
}

extension CachedEntry: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("age-seconds")
            writer.value(ageSeconds)
            if let fleet {
                writer.name("fleet")
                writer.value(fleet)
            }
            writer.name("hits")
            writer.value(hits)
            writer.name("name")
            writer.value(name)
            if let origin {
                writer.name("origin")
                writer.value(origin)
            }
            if let originServer {
                writer.name("origin-server")
                writer.value(originServer)
            }
            if let protected {
                writer.name("protected")
                writer.value(protected)
            }
            writer.name("rcode")
            writer.value(rcode)
            writer.name("records")
            writer.list(records) { $0.value($1) }
            writer.name("server")
            writer.value(server)
            writer.name("source")
            writer.value(source)
            writer.name("stale")
            writer.value(stale)
            if let synthesized {
                writer.name("synthesized")
                writer.value(synthesized)
            }
            writer.name("ttl-seconds")
            writer.value(ttlSeconds)
            writer.name("type")
            writer.value(type)
            writer.name("validated")
            writer.value(validated)
            writer.name("variant")
            writer.value(variant)
        }
    }
}
