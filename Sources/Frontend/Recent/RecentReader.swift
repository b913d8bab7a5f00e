// SPDX-License-Identifier: Apache-2.0
package import Net

/// Reader of new records in the rings of all threads.
///
/// The reader polls while `watch` or the query log is active, because a notification would slow
/// down the hit path of the writers.
@ServiceLoop
package struct RecentReader {
    package static let interval: Duration = .milliseconds(50)

    /// Maximum queries reported per poll; further ones are only counted.
    ///
    /// The text of one query takes about 5 µs on the service loop.
    package static let mostEvents = 400

    /// Next record to read in each ring.
    private var places: [ObjectIdentifier: UInt64] = [:]

    /// Records of all rings, one ring after the other.
    package struct News {
        package var words: [UInt64] = []

        /// Records that were overwritten before they were read.
        package var lost: UInt64 = 0
    }

    /// Creates a reader that skips the present records.
    package init(startingAt recent: [RecentQueries]) {
        for queries in recent { places[ObjectIdentifier(queries)] = queries.ring.written }
    }

    /// Returns the new records, including all records of a new ring.
    package mutating func news(of recent: [RecentQueries]) -> News {
        var news = News()
        var places: [ObjectIdentifier: UInt64] = [:]
        for queries in recent {
            let key = ObjectIdentifier(queries)
            let records = queries.ring.records(since: self.places[key] ?? 0)
            places[key] = records.next
            news.words += records.words
            news.lost += records.lost
        }
        self.places = places
        return news
    }

    package static func all(of recent: [RecentQueries]) -> News {
        var news = News()
        for queries in recent { news.words += queries.ring.records(since: 0).words }
        return news
    }
}
