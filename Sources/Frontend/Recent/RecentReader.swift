// SPDX-License-Identifier: Apache-2.0
package import Net

/// Reader that polls the rings of all threads while `watch` or the query log is active.
@ServiceLoop
package struct RecentReader {
    package static let interval: Duration = .milliseconds(50)

    /// Each reported query takes 5 µs; further queries are only counted.
    package static let mostEvents = 400

    private var places: [ObjectIdentifier: UInt64] = [:]

    package struct News {
        package var words: [UInt64] = []

        package var lost: UInt64 = 0
    }

    package init(startingAt recent: [RecentQueries]) {
        for queries in recent { places[ObjectIdentifier(queries)] = queries.ring.written }
    }

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
