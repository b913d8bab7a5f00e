// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import Daemon

@Suite("Coalescing of reload requests")
struct CoalescingQueueTests {
    @ServiceLoop
    private final class Work {
        private(set) var begun = 0
        private var open: CheckedContinuation<Int, Never>?

        func run() async -> Int {
            begun += 1
            return await withCheckedContinuation { open = $0 }
        }

        func end() {
            open?.resume(returning: begun)
            open = nil
        }
    }

    @Test("requests during a reload share the next reload")
    @ServiceLoop
    func turns() async {
        let queue = CoalescingQueue<Int>()
        let work = Work()
        func ask() -> Task<Int, Never> {
            ServiceLoop.task { await queue.turn { await work.run() } }
        }
        let first = ask()
        while work.begun < 1 { await Task.yield() }
        let others = [ask(), ask(), ask()]
        for _ in 0..<20 { await Task.yield() }
        #expect(work.begun == 1)
        work.end()
        #expect(await first.value == 1)
        while work.begun < 2 { await Task.yield() }
        work.end()
        for other in others { #expect(await other.value == 2) }
        let last = ask()
        while work.begun < 3 { await Task.yield() }
        work.end()
        #expect(await last.value == 3)
    }
}
