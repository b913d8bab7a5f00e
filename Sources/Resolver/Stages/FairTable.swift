// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Upstream

@ServiceLoop
protocol FairEntry: AnyObject {
    /// Client with the limits that apply to the entry; nil for an entry of the daemon itself.
    var client: ClientNetwork? { get }

    var began: Instant { get }

    var place: Int? { get set }
}

extension FairEntry {
    var isOver: Bool { place == nil }
}

package struct FairLimits: Sendable {
    package let all: Int

    /// Maximum entries of one client.
    package let perClient: Int

    /// Entries that a client can keep in a full table.
    package let share: Int

    /// Minimum age at which a new entry of the same client can replace an entry.
    package let grace: Duration
}

/// Table of entries with limits in total and per client, similar to unbound's jostle list.
///
/// A *verified* client is a proven client, or the daemon itself.
///
/// In a full table, a new entry evicts the oldest entry of the client with the most entries, if
/// this client has more than `FairLimits.share` entries. Otherwise, a new entry evicts the oldest
/// entry of all verified clients.
///
/// While unverified clients have at least half of the table, a new entry evicts only their entries,
/// so that a flood from many forged addresses evicts no queries of this machine or of TCP clients.
///
/// A client that has reached its own limit, or has the most entries in a full table, replaces its
/// own oldest entry. If this entry is younger than `LossWindow.grace`, the table rejects the new
/// entry. The limit of a client shrinks while many of its queries are lost.
@ServiceLoop
struct FairTable<Entry: FairEntry> {
    private let limits: FairLimits

    private(set) var count = 0

    enum Admission {
        case accepted

        /// The caller must evict this entry, and then call `admission` again.
        case replaces(Entry)

        case refused
    }

    private struct Slot {
        var entry: Entry?
        var line = 0
    }

    private struct Line {
        var ends = Links()
        var count = 0
        let client: ClientNetwork?

        var window: LossWindow
    }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []

    /// Neighbours of each entry in the list of its client, by index in `slots`.
    private var ofClient: [Links] = []

    private var ofAll: [Links] = []

    private var lines: [Line] = []
    private var freeLines: [Int] = []

    private var (verified, unverified) = (Links(), Links())
    private var unverifiedCount = 0

    private var places: [ClientNetwork?: Int] = [:]

    /// Index in `lines` of the list that was used last; only this list may be empty.
    private var latest: Int?

    /// Indices in `lines` of the lists with more than `limits.share` entries.
    private var large: Set<Int> = []

    /// Reduced limits of clients that now have no entries.
    private var reduced: [ClientNetwork?: LossWindow] = [:]

    /// Last client for which ``admission(of:now:)`` was called; calls for the daemon itself do not
    /// count.
    private var user: ClientNetwork?

    private var sharedAt: Instant?

    private static var sharedTime: Duration { .seconds(600) }

    private static var mostReduced: Int { 256 }

    init(_ limits: FairLimits) { self.limits = limits }

    /// Adds an entry that ``admission(of:now:)`` has accepted; returns the load of the client.
    @discardableResult
    mutating func add(_ entry: Entry) -> ClientLoad {
        let place = freeSlots.popLast() ?? slots.count
        if place == slots.count {
            slots.append(Slot())
            ofClient.append(Links())
            ofAll.append(Links())
        }
        slots[place].entry = entry
        entry.place = place
        count += 1
        let line = enter(place, client: entry.client)
        if lines[line].window.isReduced(limits) { return .excessive }
        return lines[line].count > limits.share ? .high : .normal
    }

    mutating func remove(_ entry: Entry) {
        guard let place = entry.place else { return }
        entry.place = nil
        count -= 1
        leave(place)
        slots[place].entry = nil
        freeSlots.append(place)
    }

    /// Counts the result of a client's query in the client's ``LossWindow``; ignores entries that
    /// are no longer in the table.
    mutating func note(_ entry: Entry, isLost: Bool, now: Instant) {
        guard let place = entry.place, entry.client != nil else { return }
        let line = slots[place].line
        lines[line].window.note(
            isLost: isLost,
            age: now - entry.began,
            entries: lines[line].count,
            isShared: sharedAt.map { now - $0 < Self.sharedTime } ?? false,
            now: now,
            limits
        )
    }

    /// Moves an entry to the list of `entry.client`, which the caller has changed.
    mutating func move(_ entry: Entry) {
        guard let place = entry.place else { return }
        leave(place)
        enter(place, client: entry.client)
    }

    mutating func admission(
        of client: ClientNetwork?,
        now: Instant
    ) -> Admission {
        if let client, client != user {
            if user != nil { sharedAt = now }
            user = client
        }
        let line = line(of: client)
        if lines[line].count >= lines[line].window.size(at: now, limits) {
            return replacement(in: line, now)
        }
        guard count >= limits.all else { return .accepted }
        let evictsUnverified = unverifiedCount >= limits.all / 2
        let candidates = evictsUnverified ? large.filter { !isVerified($0) } : large
        if let largest = candidates.max(by: { lines[$0].count < lines[$1].count }) {
            guard largest != line else { return replacement(in: line, now) }
            return admission(replacing: lines[largest].ends.oldest)
        }
        return admission(replacing: (evictsUnverified ? unverified : verified).oldest)
    }

    private func isVerified(_ line: Int) -> Bool { lines[line].client?.isProven ?? true }

    private func admission(replacing place: Int?) -> Admission {
        place.flatMap { slots[$0].entry }.map(Admission.replaces) ?? .refused
    }

    private func replacement(in line: Int, _ now: Instant) -> Admission {
        guard let place = lines[line].ends.oldest, let oldest = slots[place].entry,
            now - oldest.began >= lines[line].window.grace(limits)
        else { return .refused }
        return .replaces(oldest)
    }

    private mutating func line(of client: ClientNetwork?) -> Int {
        if let latest {
            if lines[latest].client == client { return latest }
            if lines[latest].count == 0 { forget(latest) }
        }
        latest = places[client] ?? newLine(of: client)
        return latest ?? 0
    }

    private mutating func newLine(of client: ClientNetwork?) -> Int {
        let window = reduced.removeValue(forKey: client) ?? LossWindow(limits)
        let line = freeLines.popLast() ?? lines.count
        if line == lines.count {
            lines.append(Line(client: client, window: window))
        } else {
            lines[line] = Line(client: client, window: window)
        }
        places[client] = line
        return line
    }

    private mutating func forget(_ line: Int) {
        let (client, window) = (lines[line].client, lines[line].window)
        places[client] = nil
        freeLines.append(line)
        guard window.isReduced(limits) else { return }
        if reduced.count >= Self.mostReduced { reduced.remove(at: reduced.startIndex) }
        reduced[client] = window
    }

    // MARK: - Lists

    @discardableResult
    private mutating func enter(_ place: Int, client: ClientNetwork?) -> Int {
        let line = line(of: client)
        slots[place].line = line
        lines[line].ends.append(place, &ofClient)
        lines[line].count += 1
        if lines[line].count > limits.share { large.insert(line) }
        if isVerified(line) {
            verified.append(place, &ofAll)
        } else {
            unverified.append(place, &ofAll)
            unverifiedCount += 1
        }
        return line
    }

    private mutating func leave(_ place: Int) {
        let line = slots[place].line
        lines[line].ends.remove(place, &ofClient)
        lines[line].count -= 1
        if lines[line].count == limits.share { large.remove(line) }
        if isVerified(line) {
            verified.remove(place, &ofAll)
        } else {
            unverified.remove(place, &ofAll)
            unverifiedCount -= 1
        }
        if lines[line].count == 0, latest != line { forget(line) }
    }
}

private struct Links {
    private(set) var oldest: Int?
    private(set) var newest: Int?

    mutating func append(_ place: Int, _ links: inout [Links]) {
        links[place] = Links(oldest: newest, newest: nil)
        if let newest { links[newest].newest = place } else { oldest = place }
        newest = place
    }

    mutating func remove(_ place: Int, _ links: inout [Links]) {
        let neighbours = links[place]
        if let older = neighbours.oldest {
            links[older].newest = neighbours.newest
        } else {
            oldest = neighbours.newest
        }
        if let newer = neighbours.newest {
            links[newer].oldest = neighbours.oldest
        } else {
            newest = neighbours.oldest
        }
    }
}
