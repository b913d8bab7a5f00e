// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Incremental parser of a snapshot file with untrusted content.
///
/// The caller first reads the whole file without a cache, so that no entry of a damaged file is
/// stored.
package struct SnapshotReader {
    package private(set) var summary = SnapshotSummary()

    private let cache: AnswerCache?
    private let now: Instant
    private let wallTime: UInt64
    private let selection: Selection
    private let believes: (String) -> Bool

    private var isSelected: (CachedAnswer) -> Bool = { _ in true }

    private var pending: [UInt8] = []
    private var start = 0

    private var phase = Phase.prologue

    private var version = SnapshotFormat.version

    private var servers: [UInt16: SnapshotEntry.Server] = [:]

    /// Seconds since the snapshot was written; nil if this time is unknown.
    ///
    /// If nil, all answers are restored as stale.
    private var passed: UInt32? = 0

    private static let clockStep: UInt64 = 60

    private enum Phase {
        case prologue, header, blocks, nothing
    }

    /// Function that gets the digests in the snapshot, and returns a filter for answers to restore.
    package typealias Selection = ([String: UInt64]) -> (CachedAnswer) -> Bool

    /// Creates a reader; without a cache, the reader only validates the file.
    ///
    /// - Parameters:
    ///   - wallTime: seconds since 1970; if this time is more than 60 s before the time of writing,
    ///     all answers are restored as stale.
    ///   - believes: returns true if the daemon trusts the DNSSEC validation of the named server;
    ///     answers of other servers lose the AD flag.
    package init(
        into cache: AnswerCache?,
        now: Instant,
        wallTime: UInt64,
        selecting selection: @escaping Selection = { _ in { _ in true } },
        believing believes: @escaping (String) -> Bool = { _ in false }
    ) {
        self.cache = cache
        self.now = now
        self.wallTime = wallTime
        self.selection = selection
        self.believes = believes
    }

    /// Returns true if a file that begins with `octets` is not a snapshot.
    ///
    /// Returns false for zeros, because a power failure can replace all octets of a snapshot by
    /// zeros.
    package static func isForeign(_ octets: [UInt8]) -> Bool {
        zip(octets, SnapshotFormat.mark).contains { $0 != $1 } && octets.contains { $0 != 0 }
    }

    /// Parses the next octets of the file; entries before an error stay in the cache.
    package mutating func read(
        _ octets: some Collection<UInt8>,
        _ serverNumber: (String) -> UInt16
    ) throws(SnapshotError) {
        pending += octets
        var position = 0
        if phase == .prologue {
            guard try hasPrologue() else { return }
            position = SnapshotFormat.prologueOctets
            phase = .header
        }
        while let block = try block(at: position) {
            try use(block, serverNumber)
            position += SnapshotFormat.blockHeaderOctets + block.payload.count
        }
        pending.removeSubrange(..<position)
        start += position
        if phase == .nothing, !pending.isEmpty { throw .trailingOctets(at: start) }
    }

    /// Throws if the file is incomplete.
    package func finish() throws(SnapshotError) -> SnapshotSummary {
        guard phase == .nothing else { throw .truncated(at: start) }
        return summary
    }

    // MARK: - Blocks

    private struct Block {
        let kind: SnapshotFormat.Kind
        let payload: [UInt8]

        let start: Int

        var payloadStart: Int { start + SnapshotFormat.blockHeaderOctets }
    }

    private mutating func hasPrologue() throws(SnapshotError) -> Bool {
        let mark = SnapshotFormat.mark
        if let wrong = zip(pending, mark).enumerated().first(where: { $1.0 != $1.1 }) {
            throw .notASnapshot(at: wrong.offset)
        }
        guard pending.count >= SnapshotFormat.prologueOctets else { return false }
        version = pending.rawSpan.uint16(at: mark.count)
        guard SnapshotFormat.versions.contains(version) else {
            throw .version(version, at: mark.count)
        }
        return true
    }

    private func block(at position: Int) throws(SnapshotError) -> Block? {
        guard phase != .nothing else { return nil }
        let place = start + position
        let payloadStart = position + SnapshotFormat.blockHeaderOctets
        guard pending.count >= payloadStart else { return nil }
        let head = pending.rawSpan
        guard let kind = SnapshotFormat.Kind(rawValue: head.uint8(at: position)) else {
            throw .strangeBlock(at: place)
        }
        let length = Int(head.uint32(at: position + 1))
        guard length <= SnapshotFormat.largestPayload else { throw .tooLong(at: place) }
        guard pending.count - payloadStart >= length else { return nil }
        let payload = Array(pending[payloadStart..<payloadStart + length])
        guard SnapshotFormat.checksum(kind.rawValue, payload) == head.uint32(at: position + 5)
        else { throw .checksum(at: place) }
        return Block(kind: kind, payload: payload, start: place)
    }

    private mutating func use(
        _ block: Block,
        _ serverNumber: (String) -> UInt16
    ) throws(SnapshotError) {
        switch (phase, block.kind) {
        case (.header, .header):
            try readHeader(block)
            let seconds = wallTime - min(wallTime, summary.writtenAt)
            let isUnknown = summary.writtenAt - min(wallTime, summary.writtenAt) > Self.clockStep
            passed = isUnknown ? nil : UInt32(clamping: seconds)
            phase = .blocks
        case (.blocks, .names):
            try readNames(block, serverNumber)
        case (.blocks, .entries):
            try readEntries(block)
        case (.blocks, .end):
            guard block.payload.count == 8 else { throw .badBlock(at: block.start) }
            guard number(block) == summary.entries else { throw .wrongCount(at: block.start) }
            phase = .nothing
        default:
            throw .strangeBlock(at: block.start)
        }
    }

    private func number(_ block: Block) -> UInt64 {
        let payload = block.payload.rawSpan
        return UInt64(payload.uint32(at: 0)) << 32 | UInt64(payload.uint32(at: 4))
    }

    private mutating func readHeader(_ block: Block) throws(SnapshotError) {
        let hasDigests = version >= SnapshotFormat.versionWithDigests
        guard block.payload.count >= 8, hasDigests || block.payload.count == 8 else {
            throw .badBlock(at: block.start)
        }
        summary.writtenAt = number(block)
        var digests: [String: UInt64] = [:]
        do throws(WireError) {
            var reader = WireReader(block.payload.span)
            _ = try reader.octets(8)
            while !reader.isAtEnd {
                let high = try reader.uint32()
                let digest = UInt64(high) << 32 | UInt64(try reader.uint32())
                let octets = try reader.characterString()
                guard let name = String(validating: octets, as: UTF8.self) else {
                    throw WireError.badRDATA(at: reader.offset)
                }
                digests[name] = digest
            }
        } catch {
            throw .badBlock(at: block.payloadStart + error.offset)
        }
        if cache != nil { isSelected = selection(digests) }
    }

    private mutating func readNames(
        _ block: Block,
        _ serverNumber: (String) -> UInt16
    ) throws(SnapshotError) {
        do throws(WireError) {
            var reader = WireReader(block.payload.span)
            while !reader.isAtEnd {
                let server = try reader.uint16()
                let octets = try reader.characterString()
                guard let name = String(validating: octets, as: UTF8.self) else {
                    throw WireError.badRDATA(at: reader.offset)
                }
                servers[server] = SnapshotEntry.Server(
                    number: serverNumber(name),
                    isBelieved: believes(name)
                )
            }
        } catch {
            throw .badBlock(at: block.payloadStart + error.offset)
        }
    }

    private mutating func readEntries(_ block: Block) throws(SnapshotError) {
        var kept: [SnapshotEntry] = []
        var entryStart = 0
        var count: UInt64 = 0
        do throws(WireError) {
            var reader = WireReader(block.payload.span)
            while !reader.isAtEnd {
                entryStart = reader.offset
                let entry = try SnapshotEntry(
                    &reader,
                    servers,
                    flags: SnapshotFormat.flags(ofVersion: version),
                    passed: passed
                )
                if cache != nil, isSelected(entry.answer) { kept.append(entry) }
                count += 1
            }
        } catch {
            throw .badEntry(at: block.payloadStart + entryStart)
        }
        summary.entries += count
        guard let cache else { return }
        let stored = cache.withTable(now: now) { $0.restore(kept, now: $1) }
        summary.restored += UInt64(stored.all)
        summary.stale += UInt64(stored.stale)
    }
}

/// Counts of the entries in a snapshot.
package struct SnapshotSummary: Sendable, Equatable {
    /// Seconds since 1970.
    package internal(set) var writtenAt: UInt64 = 0

    package internal(set) var entries: UInt64 = 0

    package internal(set) var restored: UInt64 = 0

    package internal(set) var stale: UInt64 = 0
}

struct SnapshotEntry {
    struct Server {
        let number: UInt16

        let isBelieved: Bool
    }

    private(set) var answer: CachedAnswer

    let age: UInt32
    let demand: Demand

    /// Throws if a ``SnapshotWriter`` cannot have written the entry.
    init(
        _ reader: inout WireReader,
        _ servers: [UInt16: Server],
        flags known: UInt8,
        passed: UInt32?
    ) throws(WireError) {
        let type = RecordType(rawValue: try reader.uint16())
        let variant = AnswerVariant(rawValue: try reader.uint8())
        let rcode = RCode(rawValue: UInt16(try reader.uint8()))
        let source = AnswerSource(rawValue: try reader.uint8())
        let flags = try reader.uint8()
        let server = servers[try reader.uint16()]
        guard variant.isKnown, rcode == .noError || rcode == .nxDomain, flags & ~known == 0,
            let source,
            source != .local, let server
        else { throw .badRDATA(at: reader.offset) }
        let ageWhenWritten = try reader.uint32()
        let lifetime = try reader.uint32()
        age =
            passed.map { UInt32(clamping: UInt64(ageWhenWritten) + UInt64($0)) }
            ?? max(ageWhenWritten, lifetime)
        let staleWindow = try reader.uint32()
        let refreshAfter = try reader.uint32()
        demand = Demand(
            hits: try reader.uint32(),
            isNew: flags & SnapshotFormat.isInDemand != 0
        )
        let answerCount = try reader.uint16()
        let authorityCount = try reader.uint16()
        let additionalCount = try reader.uint16()
        let octetCount = Int(try reader.uint16())
        let question = Question(name: try reader.uncompressedName(), type: type)
        answer = CachedAnswer(
            question: question,
            variant: variant,
            rcode: rcode,
            sections: try AnswerSections(
                checking: try reader.octets(octetCount),
                of: question,
                answerCount: answerCount,
                authorityCount: authorityCount,
                additionalCount: additionalCount
            ),
            lifetime: lifetime,
            source: source,
            server: server.number,
            staleWindow: staleWindow,
            refreshAfter: refreshAfter
        )
        answer.isAuthentic = flags & SnapshotFormat.isAuthentic != 0 && server.isBelieved
    }
}

extension AnswerVariant {
    fileprivate var isKnown: Bool { rawValue < 4 || self == .any }
}
