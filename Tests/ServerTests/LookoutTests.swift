// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Server

@Suite("When a worker looks again before it sleeps")
struct LookoutTests {
    /// A worker whose next queries come after certain times.
    struct Worker {
        var lookout = Lookout()
        var looksInVain = 0

        mutating func waits(_ times: Int, _ wait: Duration) {
            for _ in 0..<times {
                if lookout.isAwake, wait >= Lookout.time { looksInVain += 1 }
                lookout.note(wait: wait)
            }
        }
    }

    @Test
    func `an idle one sleeps`() {
        var worker = Worker()
        worker.waits(1000, .milliseconds(1))
        #expect(worker.looksInVain == 0)
    }

    @Test
    func `one that is asked again and again stays awake, and falls asleep when that ends`() {
        var worker = Worker()
        worker.waits(8, .microseconds(19))
        #expect(worker.lookout.isAwake)
        worker.waits(1000, .microseconds(5))
        #expect(worker.lookout.isAwake)
        worker.waits(1000, .milliseconds(1))
        #expect(!worker.lookout.isAwake)
        #expect(worker.looksInVain == 2)
    }

    @Test
    func `one look in vain among many that find something ends nothing`() {
        var worker = Worker()
        worker.waits(8, .microseconds(19))
        for _ in 0..<100 {
            worker.waits(8, .microseconds(5))
            worker.waits(1, .microseconds(21))
            #expect(worker.lookout.isAwake)
        }
    }

    @Test
    func `where looks are always in vain, as on one processor, they become rare`() {
        var worker = Worker()
        for _ in 0..<100_000 {
            // Asleep it is woken soon; awake it finds nothing, as the asker cannot run.
            worker.waits(1, worker.lookout.isAwake ? .microseconds(35) : .microseconds(15))
        }
        #expect(worker.looksInVain < 100_000 / 1000)
    }

    @Test(arguments: 0..<8)
    func `whatever comes, a quick query is paid with a quarter of a look at most`(_ seed: UInt64) {
        var state = seed
        var worker = Worker()
        var quick = 0
        for _ in 0..<100_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // From nearly all quick to nearly none.
            let isQuick = state >> 61 > seed
            if isQuick { quick += 1 }
            worker.waits(1, isQuick ? .microseconds(15) : .microseconds(45))
        }
        #expect(worker.looksInVain <= quick / 4)
        // If there ever was a look, some were in vain: the bound is not kept by never looking.
        #expect(worker.looksInVain > 0 || seed > 4)
    }
}
