// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks
import Testing

@testable import Net

@Suite("A queue with a thread that may block", .timeLimit(.minutes(15)))
struct BackgroundQueueTests {
    private final class Gate: Sendable {
        let entered = DispatchSemaphore(value: 0)
        let goesOn = DispatchSemaphore(value: 0)
        let seen = Lock<[(items: [Int], dropped: UInt64)]>([])

        func handle(_ items: [Int], _ dropped: UInt64) {
            entered.signal()
            goesOn.wait()
            seen.withLock { $0.append((items, dropped)) }
        }
    }

    @Test
    func `an item for a full queue is dropped and counted, and the caller does not block`() throws {
        let gate = Gate()
        let queue = try BackgroundQueue<Int>(named: "test", itemLimit: 3) { gate.handle($0, $1) }
        #expect(queue.add(1))
        gate.entered.wait()
        #expect((2...4).allSatisfy { queue.add($0) })
        #expect((5...9).allSatisfy { !queue.add($0) })
        gate.goesOn.signal()
        gate.entered.wait()
        gate.goesOn.signal()
        queue.flush(within: .seconds(30))
        let seen = gate.seen.withLock { $0 }
        #expect(seen.map(\.items) == [[1], [2, 3, 4]])
        #expect(seen.map(\.dropped) == [0, 5])
        #expect(queue.add(10))
        gate.goesOn.signal()
    }

    @Test
    func `an item that exceeds the queue's limit of octets is dropped`() throws {
        let gate = Gate()
        let queue = try BackgroundQueue<Int>(named: "test", itemLimit: 100, octetLimit: 10) {
            gate.handle($0, $1)
        }
        #expect(queue.add(1, octets: 10))
        gate.entered.wait()
        #expect(queue.add(2, octets: 6))
        #expect(!queue.add(3, octets: 6))
        #expect(queue.add(4, octets: 4))
        for _ in 0..<2 { gate.goesOn.signal() }
    }

    @Test
    func `a flush returns after its time limit although the queue's thread is blocked`() throws {
        let gate = Gate()
        let queue = try BackgroundQueue<Int>(named: "test", itemLimit: 3) { gate.handle($0, $1) }
        queue.add(1)
        gate.entered.wait()
        queue.flush(within: .milliseconds(10))
        #expect(gate.seen.withLock { $0.isEmpty })
        gate.goesOn.signal()
    }
}
