// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Frontend

@Suite("Busy polling of a worker before it sleeps")
struct BusyPollTests {
    struct Worker {
        var busyPoll = BusyPoll()
        var looksInVain = 0

        mutating func waits(_ times: Int, _ wait: Duration) {
            for _ in 0..<times {
                if busyPoll.isSpinning, wait >= BusyPoll.time { looksInVain += 1 }
                busyPoll.note(wait: wait)
            }
        }
    }

    @Test
    func `a worker without queries does not poll, but sleeps`() {
        var worker = Worker()
        worker.waits(1000, .milliseconds(1))
        #expect(worker.looksInVain == 0)
    }

    @Test
    func `a busy worker polls, and sleeps when the load ends`() {
        var worker = Worker()
        worker.waits(8, .microseconds(19))
        #expect(worker.busyPoll.isSpinning)
        worker.waits(1000, .microseconds(5))
        #expect(worker.busyPoll.isSpinning)
        worker.waits(1000, .milliseconds(1))
        #expect(!worker.busyPoll.isSpinning)
        #expect(worker.looksInVain == 2)
    }

    @Test
    func `one unsuccessful poll among many successful polls does not stop polling`() {
        var worker = Worker()
        worker.waits(8, .microseconds(19))
        for _ in 0..<100 {
            worker.waits(8, .microseconds(5))
            worker.waits(1, .microseconds(21))
            #expect(worker.busyPoll.isSpinning)
        }
    }

    @Test
    func `if polls never succeed, as on a single processor, polling becomes rare`() {
        var worker = Worker()
        for _ in 0..<100_000 {
            // Without a free processor, the client waits longer if the worker polls (35 µs) than if
            // the worker sleeps (15 µs).
            worker.waits(1, worker.busyPoll.isSpinning ? .microseconds(35) : .microseconds(15))
        }
        #expect(worker.looksInVain < 100_000 / 1000)
    }

    @Test(arguments: 0..<8)
    func `a worker polls without result at most once per four quick queries`(_ seed: UInt64) {
        var state = seed
        var worker = Worker()
        var quick = 0
        for _ in 0..<100_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let isQuick = state >> 61 > seed
            if isQuick { quick += 1 }
            worker.waits(1, isQuick ? .microseconds(15) : .microseconds(45))
        }
        #expect(worker.looksInVain <= quick / 4)
        #expect(worker.looksInVain > 0 || seed > 4)
    }
}
