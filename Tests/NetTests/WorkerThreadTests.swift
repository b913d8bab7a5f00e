// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Testing

@testable import Net

/// Blocks the end of the thread in the test below.
private let gate = DispatchSemaphore(value: 0)

@Suite("Threads for blocking work", .timeLimit(.minutes(15)))
struct WorkerThreadTests {
    @ServiceLoop
    @Test
    func `a result arrives before the thread has ended`() async throws {
        var key = pthread_key_t()
        // The destructor runs when the thread ends.
        try #require(pthread_key_create(&key) { _ in gate.wait() } == 0)
        let result = try await WorkerThread.run(named: "slow-end") { [key] in
            pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
        }
        gate.signal()
        #expect(result == 0)
    }
}
