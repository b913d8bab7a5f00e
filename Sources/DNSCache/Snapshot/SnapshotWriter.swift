// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Incremental encoder of a snapshot; each call encodes one block.
///
/// An entry that the cache moves between two calls can be in the file twice, or not at all.
package struct SnapshotWriter {
    package private(set) var entries: UInt64 = 0

    private let cache: AnswerCache
    private let now: Instant
    private let wallTime: UInt64
    private let digests: [String: UInt64]

    private var phase = Phase.header
    private var named: Set<UInt16> = []

    private enum Phase {
        case header

        /// Writes entries only up to position `end`.
        ///
        /// Without this limit, the snapshot would not end while insertions are fast.
        case entries(from: Int, end: Int)
        case end
        case nothing
    }

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - wallTime: seconds since 1970.
    ///   - digests: digests of the settings; the keys have at most 255 octets.
    package init(
        of cache: AnswerCache,
        now: Instant,
        wallTime: UInt64,
        digests: [String: UInt64] = [:]
    ) {
        self.cache = cache
        self.now = now
        self.wallTime = wallTime
        self.digests = digests
    }

    /// Returns the next octets of the file; nil at the end.
    package mutating func next(_ serverName: (UInt16) -> String) -> [UInt8]? {
        switch phase {
        case .header:
            phase = .entries(from: 0, end: cache.lapEnd)
            var prologue = SnapshotFormat.mark
            prologue.append(bigEndian: SnapshotFormat.version)
            var payload: [UInt8] = []
            payload.append(bigEndian: wallTime)
            for (name, digest) in digests.sorted(by: { $0.key < $1.key }) {
                payload.append(bigEndian: digest)
                payload.append(UInt8(clamping: name.utf8.count))
                payload += name.utf8.prefix(SnapshotFormat.nameOctets)
            }
            return prologue + SnapshotFormat.block(.header, payload)

        case .entries(let position, let end):
            let stride = cache.withTable(now: now) { $0.snapshotStride(from: position, now: $1) }
            if let next = stride.next, next < end {
                phase = .entries(from: next, end: end)
            } else {
                phase = .end
            }
            guard stride.count > 0 else { return next(serverName) }
            entries += UInt64(stride.count)
            let names = payload(naming: stride.servers.subtracting(named), serverName)
            named.formUnion(stride.servers)
            return (names.isEmpty ? [] : SnapshotFormat.block(.names, names))
                + SnapshotFormat.block(.entries, stride.octets)

        case .end:
            phase = .nothing
            var payload: [UInt8] = []
            payload.append(bigEndian: entries)
            return SnapshotFormat.block(.end, payload)

        case .nothing:
            return nil
        }
    }

    private func payload(
        naming servers: Set<UInt16>,
        _ serverName: (UInt16) -> String
    ) -> [UInt8] {
        var payload: [UInt8] = []
        for server in servers.sorted() {
            var name = serverName(server)
            while name.utf8.count > SnapshotFormat.nameOctets { name.removeLast() }
            payload.append(bigEndian: server)
            payload.append(UInt8(name.utf8.count))
            payload += name.utf8
        }
        return payload
    }
}

struct SnapshotStride {
    var octets: [UInt8] = []
    var count = 0
    var servers: Set<UInt16> = []

    var next: Int?
}

extension AnswerTable {
    mutating func snapshotStride(from position: Int, now: UInt64) -> SnapshotStride {
        var stride = SnapshotStride()
        stride.octets.reserveCapacity(SnapshotFormat.block.octets / 2)
        stride.next = walk(from: position, count: SnapshotFormat.block.entries) {
            table,
            reference in
            let entry = table.ring[reference]
            guard !entry.isFailure, entry.source != AnswerSource.local.rawValue,
                entry.isFresh(now) || entry.isStale(now)
            else { return .keep }
            table.write(reference, entry, to: &stride.octets, now: now)
            stride.count += 1
            stride.servers.insert(entry.server)
            return stride.octets.count < SnapshotFormat.block.octets ? .keep : .stop
        }
        return stride
    }

    private func write(
        _ reference: Int,
        _ entry: EntryHeader,
        to octets: inout [UInt8],
        now: UInt64
    ) {
        // Rounds the age up: a restored entry must not be younger than the cached entry.
        let age = entry.age(now &+ 999)
        octets.append(bigEndian: entry.type)
        octets.append(entry.variant)
        octets.append(entry.rcode)
        octets.append(entry.source)
        octets.append(
            (entry.demand.isNew ? SnapshotFormat.isInDemand : 0)
                | (entry.isAuthentic ? SnapshotFormat.isAuthentic : 0)
        )
        octets.append(bigEndian: entry.server)
        octets.append(bigEndian: UInt32(clamping: age))
        octets.append(bigEndian: entry.lifetime)
        octets.append(bigEndian: entry.staleWindow)
        octets.append(bigEndian: entry.refreshAfter)
        octets.append(bigEndian: entry.demand.hits)
        octets.append(bigEndian: entry.answerCount)
        octets.append(bigEndian: entry.authorityCount)
        octets.append(bigEndian: entry.additionalCount)
        octets.append(bigEndian: entry.sectionCount)
        ring.withParts(reference) { name, _, sections, _ in
            // SAFETY: the octets are copied while the ring is borrowed.
            unsafe name.withUnsafeBytes { unsafe octets.append(contentsOf: $0) }
            unsafe sections.withUnsafeBytes { unsafe octets.append(contentsOf: $0) }
        }
    }
}
