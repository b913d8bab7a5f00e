// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import Net

// SAFETY: a POSIX semaphore, made once and never freed.
nonisolated(unsafe) private let gate = {
    let gate = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(gate, 0, 0)
    return gate
}()

private func waitForGate(_: UnsafeMutableRawPointer?) { sem_wait(gate) }

@Suite("Threads for blocking work", .timeLimit(.minutes(15)))
struct WorkerThreadTests {
    @ServiceLoop
    @Test
    func `the caller gets the result of a thread before the thread has ended`() async throws {
        var key = pthread_key_t()
        try #require(pthread_key_create(&key, waitForGate) == 0)
        let result = try await WorkerThread.run(named: "slow-end") { [key] in
            pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
        }
        sem_post(gate)
        #expect(result == 0)
    }
}
