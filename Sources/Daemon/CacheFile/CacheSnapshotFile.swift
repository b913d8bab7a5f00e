// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver
internal import Synchronization

/// Reader and writer of a cache snapshot; blocks the calling thread.
struct CacheSnapshotFile: Sendable {
    let file: PrivateFile
    let cache: AnswerCache
    let origins: AnswerSourceRegistry

    struct Moment: Sendable {
        let instant: Instant

        let wallTime: UInt64

        init(_ clocks: Clocks) {
            instant = clocks.now()
            wallTime = UInt64(max(0, clocks.wallSeconds()))
        }
    }

    // MARK: - Writing

    struct Written: Sendable {
        let entries: UInt64
        let octets: Int
    }

    func write(
        at moment: Moment,
        _ validity: SnapshotValidity?,
        _ stop: StopSign
    ) throws(FileFault) -> Written {
        var writer = SnapshotWriter(
            of: cache,
            now: moment.instant,
            wallTime: moment.wallTime,
            digests: validity?.digests ?? [:]
        )
        let octets = try file.replace { () throws(FileFault) in
            guard !stop.isUp else { throw .stopped(file.path) }
            return writer.next(origins.label)
        }
        return Written(entries: writer.entries, octets: octets)
    }

    // MARK: - Loading

    struct Loaded: Sendable {
        let summary: SnapshotSummary
        let octets: Int
        let hottest: [HotEntry]
    }

    enum LoadFault: Error {
        case unread(FileFault)
        case damaged(SnapshotError)

        /// The file is not a snapshot.
        case foreign(SnapshotError)
    }

    static let hottestCount = 1000

    var isOther: Bool {
        guard let octets = try? file.open()?.read(Self.pieceOctets, at: 0) else { return false }
        return SnapshotReader.isForeign(octets)
    }

    private static let pieceOctets = 64 << 10

    /// Restores the cache; returns nil if there is no file.
    ///
    /// If `validity` is nil, all answers are restored. The function first reads the whole file to
    /// check it, so that no part of a damaged file is used. Then it reads the file again.
    func load(
        at moment: Moment,
        _ validity: SnapshotValidity?,
        _ stop: StopSign
    ) throws(LoadFault) -> Loaded? {
        let reader: PrivateFileReader
        do throws(FileFault) {
            guard let opened = try file.open() else { return nil }
            reader = opened
        } catch {
            throw .unread(error)
        }
        _ = try read(reader, into: nil, at: moment, validity, stop)
        let summary = try read(reader, into: cache, at: moment, validity, stop)
        return Loaded(
            summary: summary,
            octets: reader.size,
            hottest: cache.hottest(Self.hottestCount, now: moment.instant)
        )
    }

    private func read(
        _ file: borrowing PrivateFileReader,
        into cache: AnswerCache?,
        at moment: Moment,
        _ validity: SnapshotValidity?,
        _ stop: StopSign
    ) throws(LoadFault) -> SnapshotSummary {
        // Adds 1 s, because this time and the time of writing are rounded down. Otherwise, the
        // remaining TTL of an answer could be too long.
        var reader = SnapshotReader(
            into: cache,
            now: moment.instant,
            wallTime: moment.wallTime + 1,
            selecting: { validity?.selection($0) ?? { _ in true } },
            believing: origins.isBelieved(labelled:)
        )
        var position = 0
        while position < file.size {
            if stop.isUp { throw .unread(.stopped(self.file.path)) }
            let octets: [UInt8]
            do throws(FileFault) {
                octets = try file.read(Self.pieceOctets, at: position)
            } catch {
                throw .unread(error)
            }
            if octets.isEmpty { break }
            position += octets.count
            do throws(SnapshotError) {
                try reader.read(octets) { cache == nil ? 0 : origins.number(labelled: $0) }
            } catch .notASnapshot(let offset) where SnapshotReader.isForeign(octets) {
                throw .foreign(.notASnapshot(at: offset))
            } catch {
                throw .damaged(error)
            }
        }
        do throws(SnapshotError) {
            return try reader.finish()
        } catch {
            throw .damaged(error)
        }
    }
}

final class StopSign: Sendable {
    private let state = Atomic(false)
    var isUp: Bool { state.load(ordering: .relaxed) }
    func raise() { state.store(true, ordering: .relaxed) }
}
