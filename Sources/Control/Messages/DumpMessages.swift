// SPDX-License-Identifier: Apache-2.0

/// One of the replies to `Dump`: some entries of the cache, and in the end none.
package struct DumpReply: Codable, Sendable, Equatable {
    /// The entries, the oldest first.
    package var entries: [CachedEntry]

    /// How many there are in all at this moment; those that come meanwhile may be left out.
    package var total: Int

    /// Makes the reply.
    package init(entries: [CachedEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}
