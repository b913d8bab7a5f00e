// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver
internal import Synchronization

/// A snapshot of the cache on the disk: what a thread that may wait for the disk does with it.
///
/// Both directions hold no more of the file in memory than a block of it.
struct SnapshotFile: Sendable {
    let file: PrivateFile
    let cache: AnswerCache
    let origins: Origins

    /// The time at which something begins, by both clocks.
    struct Moment: Sendable {
        let instant: ContinuousClock.Instant

        /// Seconds since 1970, the begun one left out; negative times count as 0.
        let wallTime: UInt64

        /// The time now by `clocks`.
        init(_ clocks: Clocks) {
            instant = clocks.now()
            wallTime = UInt64(max(0, clocks.wallSeconds()))
        }
    }

    // MARK: - Writing

    /// What was written.
    struct Written: Sendable {
        let entries: UInt64
        let octets: Int
    }

    /// Replaces the file by what the cache holds.
    func write(at moment: Moment, _ stop: StopSign) throws(FileFault) -> Written {
        var writer = SnapshotWriter(of: cache, now: moment.instant, wallTime: moment.wallTime)
        let octets = try file.replace { () throws(FileFault) in
            guard !stop.isUp else { throw .stopped(file.path) }
            return writer.next(origins.label)
        }
        return Written(entries: writer.entries, octets: octets)
    }

    // MARK: - Loading

    /// What was loaded.
    struct Loaded: Sendable {
        let summary: SnapshotSummary
        let octets: Int

        /// What was asked for most before, most first: what to refresh first.
        let hottest: [HotEntry]
    }

    /// Why nothing was loaded.
    enum LoadFault: Error {
        /// It could not be read.
        case unread(FileFault)

        /// It was read and is not what was written.
        case damaged(SnapshotError)
    }

    /// Questions that are offered for being refreshed first.
    static let hottestCount = 1000

    /// Octets that are read at once.
    private static let pieceOctets = 64 << 10

    /// Puts what is in the file into the cache; nil if there is no file.
    ///
    /// It is read twice, first to check it: what is damaged is not used in part.
    ///
    /// - Parameter leavesOut: picks questions that the settings answer now.
    func load(
        at moment: Moment,
        leavingOut leavesOut: @Sendable @escaping (Question) -> Bool = { _ in false },
        _ stop: StopSign
    ) throws(LoadFault) -> Loaded? {
        let reader: PrivateFileReader
        do throws(FileFault) {
            guard let opened = try file.open() else { return nil }
            reader = opened
        } catch {
            throw .unread(error)
        }
        _ = try read(reader, into: nil, at: moment, leavesOut, stop)
        let summary = try read(reader, into: cache, at: moment, leavesOut, stop)
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
        _ leavesOut: @escaping (Question) -> Bool,
        _ stop: StopSign
    ) throws(LoadFault) -> SnapshotSummary {
        // A second more, as both times have lost a part of one: no TTL is longer than it was.
        var reader = SnapshotReader(
            into: cache,
            now: moment.instant,
            wallTime: moment.wallTime + 1,
            leavingOut: leavesOut,
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
            // Shorter than it was: the reader finds that it has no end.
            if octets.isEmpty { break }
            position += octets.count
            do throws(SnapshotError) {
                try reader.read(octets) { cache == nil ? 0 : origins.number(labelled: $0) }
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

/// Tells a thread that what it does is not wanted any more.
final class StopSign: Sendable {
    private let state = Atomic(false)

    /// Whether the thread should stop soon.
    var isUp: Bool { state.load(ordering: .relaxed) }

    /// Has the thread stop.
    func raise() { state.store(true, ordering: .relaxed) }
}
