// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Reads what threads have answered since it did so before.
///
/// There is nothing to be told of by: those who write do not know who reads, or the fastest answer
/// would pay for it.  So whoever watches looks again and again, and nobody does while none watches.
@ServiceLoop
struct RecentReader {
    /// The time between two looks.
    static let interval: Duration = .milliseconds(50)

    /// Queries that are told after one look; more are only counted, as making their text takes the
    /// service loop some 5 µs each, in which nothing else is done.
    static let mostEvents = 400

    /// How far each ring was read.
    private var places: [ObjectIdentifier: UInt64] = [:]

    /// What was read, the records of one ring behind those of another.
    struct News {
        var words: [UInt64] = []

        /// Queries that had been written over.
        var lost: UInt64 = 0
    }

    /// A reader that leaves out what is there now.
    init(startingAt recent: [RecentQueries]) {
        for queries in recent { places[ObjectIdentifier(queries)] = queries.ring.written }
    }

    /// What has come since; of a ring that is new, all.
    mutating func news(of recent: [RecentQueries]) -> News {
        var news = News()
        var places: [ObjectIdentifier: UInt64] = [:]
        for queries in recent {
            let key = ObjectIdentifier(queries)
            let records = queries.ring.records(since: self.places[key] ?? 0)
            places[key] = records.next
            news.words += records.words
            news.lost += records.lost
        }
        // A worker that has ended takes its place with it.
        self.places = places
        return news
    }

    /// All that is there.
    static func all(of recent: [RecentQueries]) -> News {
        var news = News()
        for queries in recent { news.words += queries.ring.records(since: 0).words }
        return news
    }
}
