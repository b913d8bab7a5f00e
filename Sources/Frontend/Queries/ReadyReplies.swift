// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Resolver

/// Replies of one TCP session that are not rendered yet, oldest first.
///
/// Consecutive replies can share their records.
struct ReadyReplies {
    private struct Entry {
        let query: QueryHandler.Open
        let resolution: Resolution

        let own: Int

        /// Octets of the records; 0 if the previous entry counts them.
        var shared: Int
    }

    private var entries: [Entry] = []

    private var next = 0

    private(set) var octets = 0

    var isEmpty: Bool { next == entries.count }

    mutating func append(_ query: QueryHandler.Open, _ resolution: Resolution) {
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

    mutating func pop() -> (query: QueryHandler.Open, resolution: Resolution)? {
        guard next < entries.count else { return nil }
        let entry = entries[next]
        next += 1
        octets -= entry.own
        if next < entries.count, entries[next].shared == 0 {
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
    fileprivate var heldOctets: Int {
        octets.count + ttlOffsets.count * MemoryLayout<UInt16>.size
    }

    fileprivate func isSame(as other: AnswerSections) -> Bool {
        octets.span.isIdentical(to: other.octets.span)
    }
}
