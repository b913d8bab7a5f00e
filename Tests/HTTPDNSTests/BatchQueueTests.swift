// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("The queue of names")
struct BatchQueueTests {
    private func question(
        _ name: String,
        _ families: Families = .both
    ) throws -> BatchQueue.Question {
        BatchQueue.Question(name: try Name(name), families: families)
    }

    @Test("who waits longest goes first, and takes along those who want the same families")
    func order() throws {
        var queue = BatchQueue()
        for (name, families) in [("a", Families.v4), ("b", .v6), ("c", .v4), ("d", .v6)] {
            queue.add(try question(name, families))
        }
        let first = queue.nextBatch { _ in true }
        #expect(first?.names == [try Name("a"), try Name("c")])
        #expect(first?.families == .v4)
        #expect(queue.nextBatch { _ in true }?.families == .v6)
        #expect(queue.nextBatch { _ in true } == nil)
    }

    @Test("a question that may not be sent yet does not hold up those behind it")
    func maySend() throws {
        var queue = BatchQueue()
        for name in ["a", "b", "c"] { queue.add(try question(name)) }
        let held = try question("a")
        let first = queue.nextBatch(fit: { $0.count == 1 }, maySend: { $0 != held })
        #expect(first?.names == [try Name("b")])
        #expect(queue.nextBatch(fit: { _ in true }, maySend: { $0 == held })?.names == [held.name])
        #expect(queue.nextBatch { _ in true }?.names == [try Name("c")])
    }

    @Test("a question that is taken back is not asked, and can be asked again")
    func takenBack() throws {
        var queue = BatchQueue()
        let (first, second) = (try question("a"), try question("b"))
        queue.add(first)
        queue.add(second)
        queue.add(second)
        queue.remove(first)
        #expect(queue.count == 1)
        queue.add(first)
        let names = queue.nextBatch { _ in true }?.names
        #expect(names == [second.name, first.name])
        #expect(queue.count == 0)
    }

    @Test("names that are too long together go apart")
    func tooLong() throws {
        var queue = BatchQueue()
        let facts = try plainTencent().facts
        let label = String(repeating: "x", count: 60)
        for number in 1...8 { queue.add(try question("n\(number).\(label).\(label).\(label).com")) }
        var sizes: [Int] = []
        while let batch = queue.nextBatch(fit: facts.canCarry) { sizes.append(batch.names.count) }
        #expect(sizes == [5, 3])
    }

    @Test("what is asked and taken back again and again takes no room")
    func bounded() throws {
        var queue = BatchQueue()
        let question = try question("a")
        for _ in 0..<100_000 {
            queue.add(question)
            queue.remove(question)
        }
        #expect(queue.count == 0)
        #expect(queue.nextBatch { _ in true } == nil)
    }
}
