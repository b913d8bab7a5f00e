// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Reads a snapshot, in pieces of any size, and puts its entries into a cache.
///
/// Trusts nothing: a file that was cut, changed or made up ends in an error, and needs no more
/// memory than a block and the cache.  Without a cache it only checks, which is how a damaged file
/// is found out before any of it is used; `AnswerCache.restore(_:…)` does one after the other.
package struct SnapshotReader {
    /// What was found so far.
    package private(set) var summary = SnapshotSummary()

    private let cache: AnswerCache?
    private let now: ContinuousClock.Instant
    private let wallTime: UInt64
    private let leavesOut: (Question) -> Bool
    private let believes: (String) -> Bool

    /// Octets that came and do not make a block yet; the first one's place in the file.
    private var pending: [UInt8] = []
    private var start = 0

    private var phase = Phase.prologue

    /// The version of the file.
    private var version = SnapshotFormat.version

    /// The servers of the file by the numbers that they have there.
    private var servers: [UInt16: SnapshotEntry.Server] = [:]

    /// Seconds that every entry has aged since it was written.
    private var passed: UInt32 = 0

    /// What may come next.
    private enum Phase {
        case prologue, header, blocks, nothing
    }

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - cache: where to put the entries; nil to check the file only.
    ///   - wallTime: seconds since 1970 at `now`.  If that is before the time of writing, no time has
    ///     passed: a clock that was set back says nothing of the answers.
    ///   - leavesOut: picks questions whose answers are not wanted any more.
    ///   - believes: whether a server with such a name is still believed to validate: of others'
    ///     answers none counts as validated, whatever the file says.
    package init(
        into cache: AnswerCache?,
        now: ContinuousClock.Instant,
        wallTime: UInt64,
        leavingOut leavesOut: @escaping (Question) -> Bool = { _ in false },
        believing believes: @escaping (String) -> Bool = { _ in false }
    ) {
        self.cache = cache
        self.now = now
        self.wallTime = wallTime
        self.leavesOut = leavesOut
        self.believes = believes
    }

    /// Takes the next octets of the file.
    ///
    /// - Parameter serverNumber: the number in this process of a server with such a name.
    /// - Throws: the first fault.  The blocks before it have been used; nothing more can be read.
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

    /// Says that there are no more octets, and returns what was found.
    package func finish() throws(SnapshotError) -> SnapshotSummary {
        guard phase == .nothing else { throw .truncated(at: start) }
        return summary
    }

    // MARK: - Blocks

    private struct Block {
        let kind: SnapshotFormat.Kind
        let payload: [UInt8]

        /// Where it begins in the file.
        let start: Int

        var payloadStart: Int { start + SnapshotFormat.blockHeaderOctets }
    }

    /// Whether the first octets are there, and right.
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

    /// The block that begins at `position` of what is pending, if it is whole.
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
            guard block.payload.count == 8 else { throw .badBlock(at: block.start) }
            summary.writtenAt = number(block)
            let seconds = wallTime - min(wallTime, summary.writtenAt)
            passed = UInt32(clamping: seconds)
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

    /// The 64-bit number that a block consists of.
    private func number(_ block: Block) -> UInt64 {
        let payload = block.payload.rawSpan
        return UInt64(payload.uint32(at: 0)) << 32 | UInt64(payload.uint32(at: 4))
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
                if !leavesOut(entry.answer.question) { kept.append(entry) }
                count += 1
            }
        } catch {
            throw .badEntry(at: block.payloadStart + entryStart)
        }
        summary.entries += count
        guard let cache else { return }
        let stored = cache.restore(kept, now: now)
        summary.restored += UInt64(stored.all)
        summary.stale += UInt64(stored.stale)
    }
}

/// What a snapshot was found to hold.
package struct SnapshotSummary: Sendable, Equatable {
    /// Seconds since 1970 at which it was written.
    package internal(set) var writtenAt: UInt64 = 0

    /// Entries in it.
    package internal(set) var entries: UInt64 = 0

    /// Entries that are in the cache now, or were until others pushed them out: not those that had
    /// grown too old, nor those for which the cache knew better.
    package internal(set) var restored: UInt64 = 0

    /// Those of them that are of use as stale answers only.
    package internal(set) var stale: UInt64 = 0
}

/// An entry out of a snapshot, as it is to be stored.
struct SnapshotEntry {
    /// Who answered, in this process.
    struct Server {
        let number: UInt16

        /// Whether what it says to be validated is.
        let isBelieved: Bool
    }

    private(set) var answer: CachedAnswer

    /// Seconds since it was stored.
    let age: UInt32
    let demand: Demand

    /// Reads an entry that the cache might have written.
    ///
    /// - Parameter known: the flags that it may have.
    /// - Throws: where it is not one; `badRDATA` for a field with a value that is none.
    init(
        _ reader: inout WireReader,
        _ servers: [UInt16: Server],
        flags known: UInt8,
        passed: UInt32
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
        age = UInt32(clamping: UInt64(try reader.uint32()) + UInt64(passed))
        let lifetime = try reader.uint32()
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
    /// Whether it is one that a client can be of, or that for all.
    fileprivate var isKnown: Bool { rawValue < 4 || self == .any }
}
