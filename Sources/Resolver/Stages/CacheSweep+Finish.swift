// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import Net

extension CacheSweep {
    /// Runs the sweep to its end with pauses, and returns the number of changed entries.
    ///
    /// The first step runs before the first suspension.
    @ServiceLoop
    package consuming func finish(_ clocks: Clocks) async -> Int {
        while step(now: clocks.now()) {
            if !isLate { await clocks.pause() }
        }
        return count
    }
}

extension Clocks {
    /// Suspends the task for 50 µs, so that other threads get the cache lock.
    @ServiceLoop
    package func pause() async {
        do {
            try await sleep(now() + .microseconds(50))
        } catch {
            // A cancelled task cannot sleep; the sweep continues.
            await Task.yield()
        }
    }
}
