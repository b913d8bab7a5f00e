// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import Net
internal import Resolver

/// Ring buffer of one thread's latest queries, written without a lock.
package final class RecentQueries: Sendable {
    let ring: RecordRing

    /// Maximum records of all workers together, 4 MiB.
    package static let mostRecords = 16_384

    private static let fewestRecords = 64

    package static let origin = Clock.now

    package init(capacity: Int = RecordRing.mostRecords) {
        ring = RecordRing(capacity: capacity)
    }

    package var capacity: Int { ring.capacity }

    /// Returns the number of records per ring for `count` new workers.
    ///
    /// Half of the free records stay for addresses that a later reload adds.
    package static func capacity(for count: Int, besides used: Int) -> Int {
        let share = max(mostRecords - used, 0) / 2 / max(count, 1)
        let capacity = min(max(share, fewestRecords), RecordRing.mostRecords)
        return 1 << (Int.bitWidth - 1 - capacity.leadingZeroBitCount)
    }

    func note(
        _ hits: SlotSet,
        of queries: inout PlainQueries,
        in batch: inout DatagramBatch,
        since arrival: Instant,
        until end: Instant
    ) {
        let time = Self.time(arrival)
        let took = Self.microseconds(end - arrival)
        var written = 0
        ring.begin(hits.count)
        for slot in hits {
            guard let (facts, hit) = queries.answered(slot) else { continue }
            let client = batch.withClientAddress(slot) { IPAddress($0) }
            let record = QueryRecord(
                facts,
                hit,
                over: .udp,
                from: client,
                arrival: time,
                microseconds: took
            )
            batch.withBuffer(slot) { buffer in
                let name = buffer.bytes.extracting(QueryFacts.headerCount..<facts.nameEnd)
                record.write(to: ring, written, name: name)
            }
            written += 1
        }
        ring.end(written)
    }

    func note(
        _ facts: QueryFacts,
        _ hit: CacheHit,
        at start: Int = 0,
        in octets: [UInt8],
        over transport: QueryTransport,
        from client: IPAddress,
        since arrival: Instant,
        until end: Instant
    ) {
        let record = QueryRecord(
            facts,
            hit,
            over: transport,
            from: client,
            arrival: Self.time(arrival),
            microseconds: Self.microseconds(end - arrival)
        )
        write(record, at: start, in: octets)
    }

    func note(
        _ facts: QueryFacts,
        _ resolution: Resolution,
        as source: QuerySource,
        at start: Int = 0,
        in octets: [UInt8],
        over transport: QueryTransport,
        from client: IPAddress,
        since arrival: Instant,
        until end: Instant
    ) {
        var flags: QueryRecord.Flags = resolution.sections.answerCount == 0 ? .empty : []
        if octets[start + 2] & 0x02 != 0 { flags.insert(.truncated) }
        if resolution.provenance.wasMerged { flags.insert(.merged) }
        let record = QueryRecord(
            arrival: Self.time(arrival),
            microseconds: Self.microseconds(end - arrival),
            type: facts.type.rawValue,
            origin: resolution.provenance.origin,
            rcode: resolution.rcode.rawValue,
            source: source,
            transport: transport,
            flags: flags,
            fallback: resolution.provenance.fallback,
            client: client,
            nameCount: facts.nameEnd - QueryFacts.headerCount
        )
        write(record, at: start, in: octets)
    }

    package func note(_ hits: MirroredHits, name: [UInt8], at now: Instant) {
        let record = QueryRecord(
            arrival: Self.time(now),
            microseconds: 1,
            type: hits.type,
            origin: hits.server,
            rcode: UInt16(hits.rcode),
            source: .cache,
            transport: .udp,
            flags: hits.isEmpty ? .empty : [],
            fallback: nil,
            client: .v4(IPv4Address(value: 0x7F00_0001)),
            nameCount: name.count,
            times: hits.times
        )
        ring.begin(1)
        record.write(to: ring, 0, name: name.rawSpan)
        ring.end(1)
    }

    private func write(_ record: QueryRecord, at start: Int, in octets: [UInt8]) {
        let name = start + QueryFacts.headerCount
        ring.begin(1)
        record.write(
            to: ring,
            0,
            name: octets.rawSpan.extracting(name..<name + record.nameCount)
        )
        ring.end(1)
    }

    package static func time(_ instant: Instant) -> UInt64 {
        (instant - origin).nanoseconds
    }

    private static func microseconds(_ duration: Duration) -> UInt32 {
        UInt32(clamping: duration.nanoseconds / 1000)
    }
}
