// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

/// Replies of one session that are not rendered yet, in the order of their arrival.
///
/// Queries for the same question share the octets of its answer, so equal answers in a row are counted
/// once.
struct ReadyReplies {
    private struct Entry {
        let query: QueryDesk.Open
        let resolution: Resolution

        /// Octets of this entry alone.
        let own: Int

        /// Octets of its records, unless the entry before shares them.
        var shared: Int
    }

    private var entries: [Entry] = []

    /// The first entry that was not taken yet.
    private var next = 0

    /// Octets that the entries hold.
    private(set) var octets = 0

    var isEmpty: Bool { next == entries.count }

    /// Appends the answer to `query`.
    mutating func append(_ query: QueryDesk.Open, _ resolution: Resolution) {
        let sections = resolution.sections
        let isShared =
            entries[next...].last.map { sections.isSame(as: $0.resolution.sections) } ?? false
        let entry = Entry(
            query: query,
            resolution: resolution,
            own: TCPLimits.replyOverhead,
            shared: isShared ? 0 : sections.heldOctets
        )
        octets += entry.own + entry.shared
        entries.append(entry)
    }

    /// Takes the oldest answer; nil if there is none.
    mutating func pop() -> (query: QueryDesk.Open, resolution: Resolution)? {
        guard next < entries.count else { return nil }
        let entry = entries[next]
        next += 1
        octets -= entry.own
        if next < entries.count, entries[next].shared == 0 {
            // The next entry shares these records, so it keeps them in memory.
            entries[next].shared = entry.shared
        } else {
            octets -= entry.shared
        }
        if next == entries.count {
            (entries, next) = ([], 0)
        } else if next >= 32, next > entries.count / 2 {
            entries.removeFirst(next)
            next = 0
        }
        return (entry.query, entry.resolution)
    }
}

extension AnswerSections {
    /// Octets of memory that the records take.
    fileprivate var heldOctets: Int {
        octets.count + ttlOffsets.count * MemoryLayout<UInt16>.size
    }

    /// Whether these are the same octets in memory.
    fileprivate func isSame(as other: AnswerSections) -> Bool {
        octets.span.isIdentical(to: other.octets.span)
    }
}
