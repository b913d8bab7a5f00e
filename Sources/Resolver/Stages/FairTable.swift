// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Entry of a ``FairTable``.
@ServiceLoop
protocol FairEntry: AnyObject {
    /// The client that the entry counts against; nil for the daemon itself.
    var client: ClientNetwork? { get }

    /// Time at which the entry was added.
    var began: ContinuousClock.Instant { get }

    /// True if the entry has left the table.
    var isOver: Bool { get set }
}

/// Bounds of a ``FairTable``.
package struct FairLimits: Sendable {
    /// Maximum number of entries of all clients.
    package let all: Int

    /// Maximum number of entries of one client; beyond it the client replaces its own oldest entry.
    package let perClient: Int

    /// Number of entries that a client can hold in a full table without being evicted first.
    package let share: Int

    /// Minimum age of an entry before its own client can replace it.
    package let grace: Duration
}

/// Bounded table in which each client has a share.
///
/// When the table is full, the client with the most entries loses its oldest entry, if it has more
/// than `FairLimits.share`.  If no client has that many, the oldest entry of all is evicted, so
/// that an entry survives a flood from forged addresses for the time that the flood needs to fill
/// the table.  unbound calls such a table the jostle list.
///
/// The client with the most entries also replaces its own entries, but only those older than
/// `FairLimits.grace`; otherwise its new entry is refused.  This bounds the rate of new work.
@ServiceLoop
struct FairTable<Entry: FairEntry> {
    private let limits: FairLimits

    private(set) var count = 0

    /// Result of an admission check.
    enum Admission {
        /// The table has room.
        case accepted

        /// The caller must evict this entry first.
        case replaces(Entry)

        /// The client has used its share.
        case refused
    }

    private var all = Line()
    private var lines: [ClientNetwork?: Line] = [:]

    /// Clients with more entries than `limits.share`: at most `limits.all / limits.share`.
    private var large: Set<ClientNetwork?> = []

    /// Entries in order of age; entries that have left are removed lazily.
    private struct Line {
        var entries: ArraySlice<Entry> = []
        var count = 0

        mutating func append(_ entry: Entry, _ isIn: (Entry) -> Bool) {
            entries.append(entry)
            count += 1
            if entries.count > 2 * count + 64 { entries = ArraySlice(entries.filter(isIn)) }
        }

        mutating func oldest(_ isIn: (Entry) -> Bool) -> Entry? {
            while let first = entries.first, !isIn(first) { entries.removeFirst() }
            return entries.first
        }
    }

    init(_ limits: FairLimits) { self.limits = limits }

    /// Adds an entry after ``admission(of:now:)`` returned `accepted`.
    mutating func add(_ entry: Entry) {
        count += 1
        all.append(entry) { !$0.isOver }
        enter(entry)
    }

    /// Removes an entry; idempotent.
    mutating func remove(_ entry: Entry) {
        guard !entry.isOver else { return }
        entry.isOver = true
        count -= 1
        all.count -= 1
        leave(entry.client)
    }

    /// Moves an entry to the share of its new `client`.
    mutating func move(_ entry: Entry, from former: ClientNetwork?) {
        leave(former)
        enter(entry)
    }

    /// Decides whether `client` can add an entry.
    mutating func admission(
        of client: ClientNetwork?,
        now: ContinuousClock.Instant
    ) -> Admission {
        if lines[client]?.count ?? 0 >= limits.perClient { return replacement(of: client, now) }
        guard count >= limits.all else { return .accepted }
        let largest = large.max { lines[$0]?.count ?? 0 < lines[$1]?.count ?? 0 }
        if let largest {
            guard largest != client else { return replacement(of: client, now) }
            return oldest(of: largest).map(Admission.replaces) ?? .refused
        }
        return all.oldest { !$0.isOver }.map(Admission.replaces) ?? .refused
    }

    /// Returns the client's own oldest entry for replacement, if it is old enough.
    private mutating func replacement(
        of client: ClientNetwork?,
        _ now: ContinuousClock.Instant
    ) -> Admission {
        guard let oldest = oldest(of: client), now - oldest.began >= limits.grace else {
            return .refused
        }
        return .replaces(oldest)
    }

    private mutating func oldest(of client: ClientNetwork?) -> Entry? {
        lines[client]?.oldest { !$0.isOver && $0.client == client }
    }

    private mutating func enter(_ entry: Entry) {
        let client = entry.client
        lines[client, default: Line()].append(entry) { !$0.isOver && $0.client == client }
        if lines[client]?.count ?? 0 > limits.share { large.insert(client) }
    }

    private mutating func leave(_ client: ClientNetwork?) {
        lines[client]?.count -= 1
        let count = lines[client]?.count ?? 0
        if count <= limits.share { large.remove(client) }
        if count == 0 { lines[client] = nil }
    }
}
