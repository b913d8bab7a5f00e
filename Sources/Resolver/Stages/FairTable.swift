// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

@ServiceLoop
protocol FairEntry: AnyObject {
    /// Client that the entry counts against; nil for the daemon itself.
    var client: ClientNetwork? { get }

    var began: Instant { get }

    /// Number of the entry in order of admission; a moved entry gets a new number.
    var order: UInt64 { get set }

    /// True if the entry has left the table.
    var isOver: Bool { get set }

    /// Entries of the client, set while the entry is in the table.
    var line: FairLine<Self>? { get set }
}

/// Entries in order of admission; entries that have left are removed lazily.
@ServiceLoop
final class FairLine<Entry: FairEntry> {
    private var entries: ArraySlice<(entry: Entry, order: UInt64)> = []
    fileprivate var count = 0

    /// Limit of the client; unused in the list of all clients.
    fileprivate var window: LossWindow

    nonisolated init(_ window: LossWindow) { self.window = window }

    fileprivate func append(_ entry: Entry) {
        entries.append((entry, entry.order))
        count += 1
        if entries.count > 2 * count + 64 { entries = ArraySlice(entries.filter(Self.isIn)) }
    }

    fileprivate var oldest: Entry? {
        while let first = entries.first, !Self.isIn(first) { entries.removeFirst() }
        return entries.first?.entry
    }

    /// False for an entry that has left the table or was moved.
    private static func isIn(_ listed: (entry: Entry, order: UInt64)) -> Bool {
        !listed.entry.isOver && listed.entry.order == listed.order
    }
}

package struct FairLimits: Sendable {
    /// Maximum number of entries of all clients.
    package let all: Int

    /// Maximum number of entries of one client; beyond it the client replaces its own oldest entry.
    package let perClient: Int

    /// Number of entries up to which a client is protected: larger clients are evicted first.
    package let share: Int

    /// Minimum age of an entry before its own client can replace it.
    package let grace: Duration
}

/// Table with limits in total and per client; unbound calls such a table the jostle list.
///
/// When the table is full, a new entry evicts the oldest entry of the largest client, if that
/// client has more than `FairLimits.share` entries.  If no client has more, it evicts the oldest
/// entry of clients without a verified address, if these have more than half of the table, and
/// otherwise that of verified clients.  A flood from forged addresses therefore evicts no work of
/// this machine.
///
/// A new entry of the largest client replaces the oldest entry of that client.  It is refused if
/// that entry is younger than `LossWindow.grace`, which bounds the rate of new work.
///
/// The limit of a client shrinks while much of its work is lost (``LossWindow``).
@ServiceLoop
struct FairTable<Entry: FairEntry> {
    private let limits: FairLimits

    private(set) var count = 0

    enum Admission {
        case accepted

        /// The caller must evict this entry first.
        case replaces(Entry)

        case refused
    }

    /// All entries, by whether the address of their client is verified.
    private let verified: FairLine<Entry>
    private let unverified: FairLine<Entry>
    private var lines: [ClientNetwork?: FairLine<Entry>] = [:]

    /// Client that used the table last, because one client often sends many queries in a row.
    ///
    /// Only this client can have an empty list in `lines`.
    private var latest: (client: ClientNetwork?, line: FairLine<Entry>)?

    /// Clients with more entries than `limits.share`: at most `limits.all / limits.share`.
    private var large: Set<ClientNetwork?> = []

    /// Reduced limits of clients without entries.
    private var reduced: [ClientNetwork?: LossWindow] = [:]

    /// The client that lost work last, and the last other client before it.
    private var losers:
        (
            latest: (client: ClientNetwork?, lostAt: Instant),
            previous: (client: ClientNetwork?, lostAt: Instant)
        ) = ((nil, Instant(nanoseconds: 0)), (nil, Instant(nanoseconds: 0)))

    /// Time for which lost work of one client permits the reduction of another client's limit.
    private static var rivalry: Duration { .seconds(10) }

    private static var mostReduced: Int { 256 }

    private var order: UInt64 = 0

    init(_ limits: FairLimits) {
        self.limits = limits
        verified = FairLine(LossWindow(limits))
        unverified = FairLine(LossWindow(limits))
    }

    /// Adds an entry after ``admission(of:now:)`` returned `accepted`.
    mutating func add(_ entry: Entry) {
        count += 1
        enter(entry)
    }

    /// Removes an entry; idempotent.
    mutating func remove(_ entry: Entry) {
        guard !entry.isOver else { return }
        entry.isOver = true
        count -= 1
        all(of: entry.client).count -= 1
        leave(entry, from: entry.client)
    }

    /// Counts a result of a client's work before its entry is removed; ignores the daemon's own
    /// work.
    mutating func note(_ entry: Entry, _ result: LossWindow.Result, now: Instant) {
        guard let line = entry.line, let client = entry.client else { return }
        if result == .lost, losers.latest.client != client { losers.previous = losers.latest }
        if result == .lost { losers.latest = (client, now) }
        let rival = losers.latest.client == client ? losers.previous : losers.latest
        line.window.note(
            result,
            age: now - entry.began,
            entries: line.count,
            hasRival: rival.client != nil && now - rival.lostAt < Self.rivalry,
            now: now,
            limits
        )
    }

    /// Counts work that its own client replaces as lost, if it is old enough.
    mutating func noteReplaced(_ entry: Entry, by client: ClientNetwork?, now: Instant) {
        guard let line = entry.line, entry.client == client,
            now - entry.began >= line.window.grace(limits)
        else { return }
        note(entry, .lost, now: now)
    }

    mutating func move(_ entry: Entry, from former: ClientNetwork?) {
        leave(entry, from: former)
        all(of: former).count -= 1
        enter(entry)
    }

    private func all(of client: ClientNetwork?) -> FairLine<Entry> {
        client?.isProven ?? true ? verified : unverified
    }

    mutating func admission(
        of client: ClientNetwork?,
        now: Instant
    ) -> Admission {
        let line = line(of: client)
        if line.count >= line.window.size(at: now, limits) { return replacement(of: client, now) }
        guard count >= limits.all else { return .accepted }
        let largest = large.max { lines[$0]?.count ?? 0 < lines[$1]?.count ?? 0 }
        if let largest {
            guard largest != client else { return replacement(of: client, now) }
            return oldest(of: largest).map(Admission.replaces) ?? .refused
        }
        let larger = unverified.count > limits.all / 2 ? unverified : verified
        return larger.oldest.map(Admission.replaces) ?? .refused
    }

    /// Returns the client's oldest entry for replacement, if it is old enough.
    private mutating func replacement(
        of client: ClientNetwork?,
        _ now: Instant
    ) -> Admission {
        guard let oldest = oldest(of: client), let line = oldest.line,
            now - oldest.began >= line.window.grace(limits)
        else { return .refused }
        return .replaces(oldest)
    }

    private mutating func oldest(of client: ClientNetwork?) -> Entry? {
        lines[client]?.oldest
    }

    /// Returns the list of a client, and stores it in `latest`.
    private mutating func line(of client: ClientNetwork?) -> FairLine<Entry> {
        if let latest {
            if latest.client == client { return latest.line }
            if latest.line.count == 0 { forget(latest.client, latest.line) }
        }
        let line =
            lines[client]
            ?? FairLine(reduced.removeValue(forKey: client) ?? LossWindow(limits))
        lines[client] = line
        latest = (client, line)
        return line
    }

    private mutating func enter(_ entry: Entry) {
        let client = entry.client
        let line = line(of: client)
        order += 1
        entry.order = order
        entry.line = line
        all(of: client).append(entry)
        line.append(entry)
        if line.count > limits.share { large.insert(client) }
    }

    private mutating func leave(_ entry: Entry, from client: ClientNetwork?) {
        guard let line = entry.line else { return }
        entry.line = nil
        line.count -= 1
        if line.count == limits.share { large.remove(client) }
        if line.count == 0, latest?.line !== line { forget(client, line) }
    }

    /// Removes the list of a client without entries; keeps a reduced limit.
    private mutating func forget(_ client: ClientNetwork?, _ line: FairLine<Entry>) {
        lines[client] = nil
        guard line.window.isReduced(limits) else { return }
        if reduced.count >= Self.mostReduced { reduced.remove(at: reduced.startIndex) }
        reduced[client] = line.window
    }
}
