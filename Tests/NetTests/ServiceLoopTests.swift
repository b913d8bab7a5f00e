// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks
import Testing

@testable import Net

@Suite("The service loop", .timeLimit(.minutes(15)))
struct ServiceLoopTests {
    @Test
    func `the code of the service loop runs on one thread, which is named service`() async throws {
        let first = await threadOnLoop()
        await Task.detached { await Task.yield() }.value
        let second = await threadOnLoop()
        #expect(first == second)
        #expect(first.name == "service")
    }

    @Test
    func `a task that prefers the loop as its executor runs on the loop`() async {
        let here = await Task(executorPreference: LoopTaskExecutor.shared) {
            LoopExecutor.shared.isCurrent
        }.value
        #expect(here)
    }

    @Test
    func `jobs that many threads queue concurrently all run`() async {
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 { await counter.add() }
                }
            }
        }
        #expect(await counter.value == 16_000)
    }

    @Test
    func `a task that queues jobs forever does not starve a socket`() async {
        await onLoop {
            let busy = Task { @ServiceLoop in while !Task.isCancelled { await Task.yield() } }
            defer { busy.cancel() }
            let called = Waiter()
            let bell = LoopWakeup { called.resume(.ready) }
            bell.ring()
            #expect(await called.wait(until: nil) == .ready)
        }
    }

    @Test
    func `run returns the exit code of its body`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            exit(ServiceLoop.run { 7 })
        }
    }

    @Test
    func `the first job starts the thread`() async {
        await #expect(processExitsWith: .success) {
            try #require(await threadOnLoop().name == "service")
        }
    }

    @Test
    func `code that requires the service loop traps on other threads`() async {
        await #expect(processExitsWith: .failure) {
            ServiceLoop.assumeIsolated {}
        }
    }
}

@Suite("Wake-ups of the service loop by other threads", .timeLimit(.minutes(15)))
struct LoopWakeupTests {
    @Test
    func `many wake-ups before the handler runs cause one call of the handler`() async {
        await onLoop {
            var calls = 0
            let called = Waiter()
            let bell = LoopWakeup {
                calls += 1
                called.resume(.ready)
            }
            for _ in 0..<1000 { bell.ring() }
            #expect(await called.wait(until: nil) == .ready)
            #expect(calls == 1)
        }
    }

    @Test
    func `the handler sees all data that other threads store before they ring`() async {
        let box = Box()
        await onLoop {
            var seen = 0
            let all = Waiter()
            let bell = LoopWakeup {
                seen += box.take()
                if seen == 40_000 { all.resume(.ready) }
            }
            let threads = (0..<4).map { _ in
                Task.detached {
                    for _ in 0..<10_000 {
                        box.put()
                        bell.ring()
                    }
                }
            }
            #expect(await all.wait(until: nil) == .ready)
            for thread in threads { await thread.value }
            #expect(seen == 40_000)
        }
    }

    private final class Box: Sendable {
        private let count = Lock(0)
        func put() { count.withLock { $0 += 1 } }
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }
}

@ServiceLoop
final class Counter {
    var value = 0
    func add() { value += 1 }
}

@ServiceLoop
func threadOnLoop() -> (id: UInt, name: String) {
    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return (UInt(pthread_self()), name?.trimmingCharacters(in: .newlines) ?? "")
}

@ServiceLoop
func onLoop(_ body: @ServiceLoop () async throws -> Void) async rethrows { try await body() }
