// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import Net

extension CacheSweep {
    /// Takes it to its end, with a lull for everybody else after each step, and tells how many
    /// entries it has picked; what one step does is done before anybody waits.
    @ServiceLoop
    package consuming func finish(_ clocks: Clocks) async -> Int {
        while step(now: clocks.now()) {
            if !isLate { await clocks.lull() }
        }
        return count
    }
}

extension Clocks {
    /// Leaves the loop and the cache to others for a moment.
    ///
    /// As long as a step takes, so that the cache is free half of the time: long enough for a worker
    /// to wake that waits for its lock.
    @ServiceLoop
    package func lull() async {
        do {
            try await sleep(now() + .microseconds(50))
        } catch {
            // Whoever asked has gone; what was begun is ended all the same.
            await Task.yield()
        }
    }
}
