// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

extension BatchQueue {
    fileprivate mutating func nextBatch(
        _ shares: CallShares,
        now: Instant = Instant(nanoseconds: 0),
        most: Int = 2_048
    ) -> Batch? {
        let facts = VendorFacts(
            kind: "test",
            maximumNames: most,
            pairsFamilies: true,
            isBillable: false,
            defaultPort: 443
        )
        return nextBatch(shares, now: now, facts, limit: most)
    }
}

@Suite("Queue of names that wait for a call")
struct BatchQueueTests {
    private func question(
        _ name: String,
        _ families: Families = .both,
        _ parameters: RouteParameters? = nil
    ) throws -> BatchQueue.Question {
        BatchQueue.Question(name: try Name(name), families: families, parameters: parameters)
    }

    private let idle = CallShares(of: 32)

    private func names(_ batch: BatchQueue.Batch?) -> [String]? {
        batch?.questions.map { $0.name.text }
    }

    @Test("a call contains the oldest name, and other names with the same families")
    func order() throws {
        var queue = BatchQueue()
        for (name, families) in [("a", Families.v4), ("b", .v6), ("c", .v4), ("d", .v6)] {
            queue.add(try question(name, families))
        }
        let first = queue.nextBatch(idle)
        #expect(names(first) == ["a", "c"])
        #expect(first?.questions.map(\.families) == [.v4, .v4])
        #expect(queue.nextBatch(idle)?.questions.first?.families == .v6)
        #expect(queue.nextBatch(idle) == nil)
    }

    @Test("if the oldest name has waited too long, the next call contains the newest names")
    func newest() throws {
        var queue = BatchQueue()
        let start = Instant(nanoseconds: 0)
        let late = start + ClientLimits.newestFirst + .nanoseconds(1)
        queue.add(try question("a"), since: start)
        for name in ["b", "c", "d", "e"] { queue.add(try question(name), since: late) }
        queue.remove(try question("e"))
        #expect(names(queue.nextBatch(idle, now: late, most: 2)) == ["d", "c"])
        queue.add(try question("f"), since: late)
        #expect(names(queue.nextBatch(idle, now: start, most: 1)) == ["a"])
        let later = late + ClientLimits.newestFirst + .nanoseconds(1)
        #expect(names(queue.nextBatch(idle, now: later)) == ["f", "b"])
        #expect(queue.count == 0 && queue.lineCount == 0)
    }

    @Test("a client may fill half of the queue space that other clients do not use")
    func share() throws {
        var queue = BatchQueue()
        var number = 0
        for client in 1...3 {
            while queue.refusal(of: network(UInt32(client))) == nil {
                queue.add(try question("n\(number)"), of: network(UInt32(client)))
                number += 1
            }
            #expect(queue.refusal(of: network(UInt32(client))) == .clientBusy)
        }
        #expect(queue.count > ClientLimits.queuedNames * 3 / 4)
        #expect(queue.refusal(of: network(4)) == nil)
        #expect(queue.nextBatch(idle)?.client == network(1))
        for number in 0..<2_048 { queue.remove(try question("n\(number)")) }
        #expect(queue.refusal(of: network(1)) == nil)
    }

    @Test("clients take turns, and no call contains names of two clients")
    func turns() throws {
        var queue = BatchQueue()
        for number in 1...6 { queue.add(try question("a\(number)"), of: network(1)) }
        queue.add(try question("b1"), of: network(2))
        queue.add(try question("d"))
        queue.add(try question("b2"), of: network(2))
        var order: [[String]] = []
        while let batch = queue.nextBatch(idle, most: 2) {
            order.append(names(batch) ?? [])
        }
        #expect(order == [["a1", "a2"], ["b1", "b2"], ["d"], ["a3", "a4"], ["a5", "a6"]])
    }

    @Test("only names with equal parameters share a call")
    func parameters() throws {
        var queue = BatchQueue()
        let subnet = try address("203.0.113.7")
        for (name, parameters) in [
            ("a", nil), ("b", RouteParameters(clientSubnet: subnet)),
            ("c", RouteParameters(sdns: ["tier": "gold"])), ("d", nil),
            ("e", RouteParameters(clientSubnet: subnet)),
            ("f", RouteParameters(clientSubnet: subnet, sdns: ["tier": "gold"])),
            ("g", RouteParameters(sdns: [:])),
        ] {
            queue.add(try question(name, .both, parameters))
        }
        var order: [[String]] = []
        while let batch = queue.nextBatch(idle) {
            order.append(names(batch) ?? [])
        }
        #expect(order == [["a", "d"], ["b", "e"], ["c"], ["f"], ["g"]])
    }

    @Test("clients take turns even if their names have different parameters")
    func turnsOfParameters() throws {
        var queue = BatchQueue()
        for number in 1...3 {
            let parameters = RouteParameters(sdns: ["tier": "\(number)"])
            queue.add(try question("a\(number)", .both, parameters), of: network(1))
        }
        for name in ["b1", "b2"] { queue.add(try question(name), of: network(2)) }
        var order: [[String]] = []
        while let batch = queue.nextBatch(idle, most: 1) {
            order.append(names(batch) ?? [])
        }
        #expect(order == [["a1"], ["b1"], ["a2"], ["b2"], ["a3"]])
    }

    @Test("the next call is for the client with the fewest calls in flight")
    func fewest() throws {
        var queue = BatchQueue()
        var shares = CallShares(of: 8)
        for client: UInt32 in [1, 1, 1, 1, 2] { shares.begin(network(client)) }
        queue.add(try question("a"), of: network(1))
        queue.add(try question("b"), of: network(2))
        queue.add(try question("c"), of: network(3))
        #expect(names(queue.nextBatch(shares)) == ["c"])
        #expect(names(queue.nextBatch(shares)) == ["b"])
        #expect(queue.nextBatch(shares) == nil)
        for _ in 1...2 { shares.end(network(1)) }
        #expect(names(queue.nextBatch(shares)) == ["a"])
    }

    @Test(
        "if clients with fewer calls go first, the other clients still take turns"
    )
    func keptTurns() throws {
        var queue = BatchQueue()
        var shares = CallShares(of: 64)
        for client: UInt32 in [1, 1, 2, 2, 3] { shares.begin(network(client)) }
        for client in 1...5 {
            for name in ["n\(client)a", "n\(client)b"] {
                queue.add(try question(name), of: network(UInt32(client)))
            }
        }
        for name in ["n4a", "n4b"] { queue.remove(try question(name)) }
        var order: [String] = []
        while let batch = queue.nextBatch(shares, most: 1) {
            order += names(batch) ?? []
        }
        #expect(order == ["n5a", "n5b", "n3a", "n3b", "n1a", "n2a", "n1b", "n2b"])
        #expect(queue.lineCount == 0)
    }

    @Test("a name for which several clients wait is sent once")
    func common() throws {
        var queue = BatchQueue()
        var shares = CallShares(of: 4)
        shares.begin(network(1))
        for name in ["a1", "a2", "common"] { queue.add(try question(name), of: network(1)) }
        for client: UInt32 in [2, 3, 2] { queue.add(try question("common"), of: network(client)) }
        queue.add(try question("c"), of: network(3))
        #expect(queue.count == 4)
        let batch = queue.nextBatch(shares, most: 1)
        #expect(names(batch) == ["common"])
        #expect(batch?.client == network(2))
        #expect(batch?.others == ShortArray([[network(1), network(3)]]))
        #expect(names(queue.nextBatch(shares)) == ["c"])
        #expect(names(queue.nextBatch(shares)) == ["a1", "a2"])
        #expect(queue.nextBatch(shares) == nil)
    }

    @Test("one client can use half of the calls, and the next client half of the remaining calls")
    func shares() {
        for (calls, expected) in [
            (1, [1, 0, 0]), (2, [1, 1, 0]), (4, [2, 1, 1]), (32, [16, 8, 4]),
        ] {
            var shares = CallShares(of: calls)
            let counts = (1...3).map { number in
                while shares.admits(network(UInt32(number))) {
                    shares.begin(network(UInt32(number)))
                }
                return shares.count(of: network(UInt32(number)))
            }
            #expect(counts == expected)
            for _ in 0..<expected[0] { shares.end(network(1)) }
            #expect(shares.count(of: network(1)) == 0)
            #expect(shares.free == calls - expected[1] - expected[2])
        }
    }

    @Test("for some time after a large reply, a client may have only two calls in flight")
    func largeReplies() throws {
        var queue = BatchQueue()
        var shares = CallShares(of: 32)
        let start = Instant(nanoseconds: 0)
        for name in ["a", "b"] { queue.add(try question(name), of: network(1)) }
        queue.add(try question("c"), of: network(2))
        shares.noteLargeReply(ClientLimits.largeReplyOctetsPerSecond, of: network(1), now: start)
        for _ in 0..<2 {
            #expect(shares.admits(network(1)))
            shares.begin(network(1))
        }
        #expect(!shares.admits(network(1)) && shares.admits(network(2)))
        for _ in 0..<3 { shares.begin(network(2)) }
        #expect(names(queue.nextBatch(shares, most: 1)) == ["c"])
        #expect(queue.nextBatch(shares, most: 1) == nil)
        shares.endLimits(now: start + .milliseconds(999))
        #expect(!shares.admits(network(1)))
        shares.endLimits(now: start + .seconds(1))
        #expect(shares.admits(network(1)))
        #expect(names(queue.nextBatch(shares, most: 1)) == ["a"])
    }

    @Test("large replies limit the calls of at most 256 clients, each for at most 10 s")
    func manyLargeReplies() {
        var shares = CallShares(of: 8)
        let start = Instant(nanoseconds: 0)
        func isLimited(_ number: UInt32) -> Bool {
            for _ in 0..<2 { shares.begin(network(number)) }
            defer { for _ in 0..<2 { shares.end(network(number)) } }
            return !shares.admits(network(number))
        }
        shares.noteLargeReply(Int.max / 2, of: network(1), now: start)
        for number in 2...UInt32(ClientLimits.limitedClients + 1) {
            shares.noteLargeReply(Int(number) << 10, of: network(number), now: start)
        }
        #expect(isLimited(1) && !isLimited(2) && isLimited(3))
        #expect(isLimited(UInt32(ClientLimits.limitedClients + 1)))
        shares.endLimits(now: start + ClientLimits.longestCallLimit)
        #expect(!isLimited(1))
    }

    @Test("if proven clients need calls, all other clients together can use half of the calls")
    func reserve() {
        for (calls, expected) in [(1, 1), (2, 1), (4, 2), (32, 16)] {
            var shares = CallShares(of: calls)
            shares.isReserved = true
            for number in 0..<64 where shares.admits(unproven(number)) {
                shares.begin(unproven(number))
            }
            #expect(shares.count == expected)
            #expect(shares.admits(network(1)) == (calls > 1))
            shares.isReserved = false
            #expect(shares.admits(unproven(100)) == (calls > 1))
            for number in 0..<expected { shares.end(unproven(number)) }
            #expect(shares.count == 0 && shares.free(isProven: false) == calls)
        }
    }

    @Test("while proven clients and other clients wait, calls alternate between the two groups")
    func groupTurns() throws {
        var queue = BatchQueue()
        for number in 1...100 { queue.add(try question("f\(number)"), of: unproven(number)) }
        for number in 1...3 { queue.add(try question("a\(number)"), of: network(1)) }
        queue.add(try question("d"))
        let order = (0..<9).compactMap { _ in names(queue.nextBatch(idle, most: 1))?.first
        }
        #expect(order == ["a1", "f1", "d", "f2", "a2", "f3", "a3", "f4", "f5"])
    }

    @Test("clients with forged addresses cannot fill the queue")
    func reservedQueue() throws {
        var queue = BatchQueue()
        queue.isReserved = true
        for number in 0..<ClientLimits.queuedNames where queue.refusal(of: unproven(number)) == nil
        {
            queue.add(try question("f\(number)"), of: unproven(number))
        }
        #expect(queue.count == ClientLimits.queuedNames / 2)
        #expect(queue.refusal(of: unproven(5_000)) == .clientBusy)
        #expect(queue.refusal(of: network(1)) == nil)
        for number in 0..<ClientLimits.queuedEntries {
            queue.add(try question("f0"), of: unproven(number))
        }
        queue.add(try question("f0"), of: network(1))
        #expect(queue.nextBatch(idle, most: 1)?.client == network(1))
    }

    @Test("names that were removed from the queue use no memory, and do not delay later names")
    func manyClients() throws {
        var queue = BatchQueue()
        for number in 0..<20_000 {
            let question = try question("n\(number)")
            queue.add(question, of: network(UInt32(number)))
            queue.add(question, of: network(UInt32(number) + 1))
            queue.remove(question)
        }
        #expect(queue.lineCount < 1_000)
        queue.add(try question("last"), of: network(1))
        #expect(names(queue.nextBatch(idle)) == ["last"])
        #expect(queue.nextBatch(idle) == nil)
        #expect(queue.lineCount == 0)
    }

    @Test("a removed name is not sent, and can be queued again")
    func takenBack() throws {
        var queue = BatchQueue()
        let (first, second) = (try question("a"), try question("b"))
        queue.add(first)
        queue.add(second)
        queue.add(second)
        queue.remove(first)
        #expect(queue.count == 1)
        queue.add(first)
        #expect(names(queue.nextBatch(idle)) == ["b", "a"])
        #expect(queue.count == 0)
    }

    @Test("the number of names in a call is limited by the maximum length of the call")
    func tooLong() throws {
        var queue = BatchQueue()
        let facts = try plainTencent().facts
        let label = String(repeating: "x", count: 60)
        for number in 1...8 { queue.add(try question("n\(number).\(label).\(label).\(label).com")) }
        var sizes: [Int] = []
        while let batch = queue.nextBatch(idle, now: Instant(nanoseconds: 0), facts, limit: 2_048) {
            sizes.append(batch.questions.count)
        }
        #expect(sizes == [5, 3])
    }

    @Test("the memory of the queue does not grow if a name is added and removed repeatedly")
    func bounded() throws {
        var queue = BatchQueue()
        let question = try question("a")
        for _ in 0..<100_000 {
            queue.add(question)
            queue.remove(question)
        }
        #expect(queue.count == 0)
        #expect(queue.nextBatch(idle) == nil)
    }
}
