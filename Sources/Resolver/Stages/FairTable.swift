// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Entry of a ``FairTable``.
@ServiceLoop
protocol FairEntry: AnyObject {
    /// The client that the entry counts against; nil for the daemon itself.
    var client: ClientNetwork? { get }

    /// When the entry came into the table.
    var began: ContinuousClock.Instant { get }

    /// Whether the entry has left the table.
    var isOver: Bool { get set }
}

/// Bounds of a ``FairTable``.
package struct FairLimits: Sendable {
    /// Entries of all clients.
    package let all: Int

    /// Entries of one client; beyond it the client loses its own oldest.
    package let perClient: Int

    /// Entries that a client may have in a full table before it loses entries first.
    package let share: Int

    /// How old an entry is before its own client may replace it.
    package let grace: Duration
}

/// Bounded set of entries in which each client has a share; the oldest entries make room for new ones.
///
/// When the table is full, the client with the most entries loses its oldest, if it has more than
/// `FairLimits.share`.  If no client has that many, the oldest entry of all makes room, so that a
/// flood from many forged addresses leaves each entry the time in which the table fills up once.
/// unbound calls such a table the jostle list.
///
/// The client with the most entries replaces its own entries, too, but only those that are older than
/// `FairLimits.grace`; else its new entry is refused.  So the rate at which it starts work is bounded.
@ServiceLoop
struct FairTable<Entry: FairEntry> {
    private let limits: FairLimits

    /// Entries in the table.
    private(set) var count = 0

    /// Consequence of one entry more.
    enum Admission {
        /// There is room.
        case accepted

        /// This entry has to leave before.
        case replaces(Entry)

        /// There is no room for the client.
        case refused
    }

    private var all = Line()
    private var lines: [ClientNetwork?: Line] = [:]

    /// Clients with more entries than `limits.share`: at most `limits.all / limits.share`.
    private var large: Set<ClientNetwork?> = []

    /// Entries by age, some of which have left.
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

    /// Adds a new entry after ``admission(of:now:)`` was `accepted`.
    mutating func add(_ entry: Entry) {
        count += 1
        all.append(entry) { !$0.isOver }
        enter(entry)
    }

    /// Removes an entry; is idempotent.
    mutating func remove(_ entry: Entry) {
        guard !entry.isOver else { return }
        entry.isOver = true
        count -= 1
        all.count -= 1
        leave(entry.client)
    }

    /// Moves an entry, whose `client` has changed, to that client's share.
    mutating func move(_ entry: Entry, from former: ClientNetwork?) {
        leave(former)
        enter(entry)
    }

    /// Decides whether `client` may have another entry.
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

    /// The client's own oldest entry, if it is old enough.
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
