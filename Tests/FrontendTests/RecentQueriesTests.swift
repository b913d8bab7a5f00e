// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Frontend

@Suite("Memory of the recent queries")
struct RecentQueriesTests {
    @Test(arguments: [
        (1, 0, 4096), (2, 0, 4096), (3, 0, 2048), (8, 0, 1024), (128, 0, 64), (1000, 0, 64),
        (4, 8192, 1024), (1, 16_384, 64), (1, 20_000, 64),
    ])
    func `new workers share half of the free records`(_ count: Int, _ used: Int, _ each: Int) {
        #expect(RecentQueries.capacity(for: count, besides: used) == each)
        #expect(RecentQueries(capacity: each).capacity == each)
    }

    @Test
    func `reloads that add addresses keep the rings of all workers within 4 MiB`() {
        var records = 0
        for _ in 0..<5 { records += 16 * RecentQueries.capacity(for: 16, besides: records) }
        #expect(records <= RecentQueries.mostRecords)
        #expect(RecentQueries.capacity(for: 16, besides: records) == 64)
    }
}
