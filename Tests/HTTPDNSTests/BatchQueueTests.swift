// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import HTTPDNS

@Suite("The queue of names waiting for a call")
struct BatchQueueTests {
    private func question(
        _ name: String,
        _ families: Families = .both
    ) throws -> BatchQueue.Question {
        BatchQueue.Question(name: try Name(name), families: families)
    }

    @Test("the longest waiting name goes first, with others of the same families")
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

    @Test("a client that must wait does not delay others, and then goes first")
    func held() throws {
        var queue = BatchQueue()
        let (held, other) = (client(1), client(2))
        for name in ["a", "b"] { queue.add(try question(name), of: held) }
        queue.add(try question("c"), of: other)
        queue.add(try question("d"))
        let names = { (batch: (names: [Name], families: Families)?) in batch?.names }
        #expect(names(queue.nextBatch(except: [held]) { $0.count == 1 }) == [try Name("c")])
        #expect(names(queue.nextBatch { $0.count == 1 }) == [try Name("a")])
        #expect(names(queue.nextBatch { _ in true }) == [try Name("b"), try Name("d")])
        #expect(queue.nextBatch { _ in true } == nil)
    }

    private func client(_ number: UInt32) -> ClientNetwork {
        ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + number)), isProven: true)
    }

    @Test("a client has its share until one of its calls ends")
    func shares() {
        var shares = CallShares(of: 4)
        for number in 1...3 {
            #expect(shares.full.isEmpty)
            shares.begin(client(1))
            if number == 1 { shares.begin(client(2)) }
        }
        #expect(shares.full == [client(1)])
        shares.end(client(2))
        #expect(shares.full == [client(1)])
        shares.end(client(1))
        #expect(shares.full.isEmpty)
    }

    @Test("a removed name is not sent, and can be added again")
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

    @Test("names that exceed the length limit together are sent separately")
    func tooLong() throws {
        var queue = BatchQueue()
        let facts = try plainTencent().facts
        let label = String(repeating: "x", count: 60)
        for number in 1...8 { queue.add(try question("n\(number).\(label).\(label).\(label).com")) }
        var sizes: [Int] = []
        while let batch = queue.nextBatch(fit: facts.canCarry) { sizes.append(batch.names.count) }
        #expect(sizes == [5, 3])
    }

    @Test("adding and removing names repeatedly does not grow the queue")
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
