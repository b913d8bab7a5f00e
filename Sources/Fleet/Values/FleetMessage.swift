// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Flush: hosts reject shared answers that were fetched before ``at``.
package struct FleetFlush: Sendable, Hashable {
    package enum Scope: Sendable, Hashable {
        case all
        case name(Name)

        /// A name and all names below it.
        case tree(Name)

        func covers(_ name: Name) -> Bool {
            switch self {
            case .all: true
            case .name(let only): name == only
            case .tree(let top): name.isEqualOrBelow(top)
            }
        }
    }

    package var scope: Scope

    /// True if the hosts mark their cached answers stale instead of removing them.
    package var isSoft: Bool

    /// Time of the flush by the Redis clock, in milliseconds since 1970.
    var at: Int64

    var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(bigEndian: UInt64(bitPattern: at))
        let (kind, name): (UInt8, Name?) =
            switch scope {
            case .all: (1, nil)
            case .name(let name): (2, name)
            case .tree(let name): (3, name)
            }
        octets += [kind, isSoft ? 1 : 0]
        return octets + (name?.octets ?? [])
    }

    init(_ scope: Scope, isSoft: Bool, at: Int64) {
        self.scope = scope
        self.isSoft = isSoft
        self.at = at
    }

    init(octets: [UInt8]) throws(FleetRejection) {
        var reader = OctetReader(octets)
        at = try reader.time()
        let (kind, soft) = (try reader.byte(), try reader.byte())
        guard soft < 2 else { throw .unreadable }
        isSoft = soft == 1
        let rest = try reader.octets(octets.count - 10)
        if kind == 1, rest.isEmpty {
            scope = .all
        } else if let name = try? Name(wire: rest), kind == 2 || kind == 3 {
            scope = kind == 2 ? .name(name) : .tree(name)
        } else {
            throw .unreadable
        }
    }
}

/// Message to all hosts, with encrypted content.
enum FleetMessage {
    case value(FleetKey, [UInt8])
    case flush([UInt8])
    static let flushContext = Array("flush".utf8)

    var octets: [UInt8] {
        switch self {
        case .value(let key, let sealed): [1] + key.digest + sealed
        case .flush(let sealed): [2] + sealed
        }
    }

    init(octets: [UInt8]) throws(FleetRejection) {
        guard octets.count <= FleetLimits.valueOctets else { throw .tooLong }
        switch octets.first {
        case 1:
            guard octets.count > FleetKey.octets else { throw .unreadable }
            let key = FleetKey(digest: Array(octets[1...FleetKey.octets]))
            self = .value(key, Array(octets[(1 + FleetKey.octets)...]))
        case 2: self = .flush(Array(octets.dropFirst()))
        default: throw .unknownVersion
        }
    }
}

struct FlushList: Sendable {
    private(set) var flushes: [FleetFlush] = []

    private var all: Int64 = .min

    /// Time of the latest hard flush of all names, which removes answers.
    ///
    /// A soft flush does not replace earlier hard flushes.
    private var allHard: Int64 = .min

    /// Adds a flush; returns false if the flush is known, or is too far in the future.
    ///
    /// A flush also counts as known if a later flush of all names is known. Exception: the later
    /// flush is in the future, because the Redis clock was ahead. If the list is too long, its
    /// oldest flush becomes a flush of all names.
    @discardableResult
    mutating func add(_ flush: FleetFlush, now: Int64) -> Bool {
        let horizon = now + FleetLimits.clockStep
        let latest = now + FleetLimits.clockTolerance
        if all > horizon { all = .min }
        if allHard > horizon { allHard = .min }
        flushes.removeAll { $0.at > horizon }
        let known = flush.isSoft ? all : allHard
        guard flush.at <= horizon, flush.at > known || known > latest else { return false }
        if case .all = flush.scope {
            all = all > latest ? flush.at : max(all, flush.at)
            if !flush.isSoft { allHard = flush.at }
            flushes.removeAll { $0.at <= flush.at && ($0.isSoft || !flush.isSoft) }
            return true
        }
        guard !flushes.contains(flush) else { return false }
        flushes.append(flush)
        if flushes.count > FleetLimits.flushes,
            let oldest = flushes.min(by: { $0.at < $1.at })
        {
            all = max(all, oldest.at)
            allHard = max(allHard, oldest.at)
            flushes.removeAll { $0.at <= oldest.at }
        }
        return true
    }

    /// Adds the flushes that Redis stores, oldest first; returns the flushes that are new.
    ///
    /// - Parameter isFull: true if Redis possibly removed older flushes. A soft flush of all names
    ///   then replaces these flushes.
    mutating func add(stored: [FleetFlush], isFull: Bool, now: Int64) -> [FleetFlush] {
        var all = stored
        if isFull, let oldest = stored.map(\.at).min() {
            all.insert(FleetFlush(.all, isSoft: true, at: oldest), at: 0)
        }
        return all.filter { add($0, now: now) }
    }

    /// Returns true if a value of `name` was fetched before a flush.
    ///
    /// Flushes in the future have no effect: they come from a former Redis server with another
    /// clock.
    func covers(_ name: Name, fetchedAt: Int64, now: Int64) -> Bool {
        let latest = now + FleetLimits.clockTolerance
        return all <= latest && fetchedAt <= all
            || flushes.contains { $0.at <= latest && fetchedAt <= $0.at && $0.scope.covers(name) }
    }
}
