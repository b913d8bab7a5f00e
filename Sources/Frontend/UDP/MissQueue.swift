// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Locks
package import Net
package import Synchronization

/// Datagram that a worker could not answer.
package final class Miss: Sendable {
    package let datagram: ReceivedDatagram
    package let listener: DatagramListener
    package let clientContext: ClientContext
    package let arrival: Instant

    /// Not optional, because a copy of an optional would take 200 instructions.
    let plain: PlainQuery

    let isParsed: Bool

    @ServiceLoop var handler: QueryHandler?

    init(
        datagram: ReceivedDatagram,
        listener: DatagramListener,
        clientContext: ClientContext,
        arrival: Instant,
        plain: PlainQuery? = nil
    ) {
        self.datagram = datagram
        self.listener = listener
        self.clientContext = clientContext
        self.arrival = arrival
        isParsed = plain != nil
        self.plain = plain ?? .unparsed
    }

    var origin: QueryOrigin {
        QueryOrigin(
            transport: clientContext.transport,
            client: clientContext.address,
            arrival: arrival
        )
    }

    var octetCount: Int { isParsed ? plain.facts.questionEnd : datagram.octets.count }

    func parsed(_ query: PlainQuery) -> Miss {
        Miss(
            datagram: datagram.withoutOctets,
            listener: listener,
            clientContext: clientContext,
            arrival: arrival,
            plain: query
        )
    }
}

/// Parsed query, which remains valid without the receive buffer.
struct PlainQuery: Sendable {
    let id: UInt16
    let query: Query
    let facts: QueryFacts

    let hash: UInt64

    let isProven: Bool

    init(_ facts: QueryFacts, hash: UInt64, isProven: Bool, in octets: RawSpan) {
        id = octets.uint16(at: 0)
        query = Query(facts, in: octets)
        self.facts = facts
        self.hash = hash
        self.isProven = isProven
    }

    /// A query for the root.
    static let unparsed: PlainQuery = {
        let octets: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
        guard let facts = try? QueryFacts(checking: octets.rawSpan) else {
            preconditionFailure("a query for the root is valid")
        }
        return PlainQuery(facts, hash: 0, isProven: false, in: octets.rawSpan)
    }()
}

/// Client, transport and arrival of a query.
struct QueryOrigin: Sendable {
    let transport: QueryTransport
    let client: IPAddress
    let arrival: Instant

    func network(isProven: Bool) -> ClientNetwork {
        ClientNetwork(of: client, over: transport, isProven: isProven)
    }
}

/// Cached answer to refresh, and the client that got the answer.
package struct Refresh: Sendable {
    package let query: Query
    package let client: ClientNetwork
}

/// Queue of misses and refreshes from the workers to the service loop.
///
/// In each queue, clients have turns of up to 16 misses, so that a flood of forged addresses hardly
/// delays a client with several queries. If a client already has n misses in a queue, the queue
/// accepts another miss of this client only while more than n places are free.
package final class MissQueue: Sendable {
    private let waiting = Lock(Waiting())
    private let wakeup: LoopWakeup
    private let box: Box

    private let (refresh, handler): (@ServiceLoop (Refresh) -> Void, @ServiceLoop (Miss) -> Void)

    private struct Waiting {
        var misses = ClientQueue<Miss>(quantum: 16)

        /// Misses from loopback addresses, which other machines cannot forge.
        var local = ClientQueue<Miss>(quantum: 16)

        var own: [Miss] = []

        var refreshes: ArraySlice<Refresh> = []

        var isEmpty: Bool {
            misses.count == 0 && local.count == 0 && own.isEmpty && refreshes.isEmpty
        }

        mutating func nextRefreshes(_ limit: Int) -> ArraySlice<Refresh> {
            guard !refreshes.isEmpty else { return [] }
            let next = refreshes.prefix(limit)
            refreshes.removeFirst(next.count)
            if refreshes.isEmpty { refreshes = [] }
            return next
        }

        mutating func add(_ miss: Miss) -> Bool {
            miss.clientContext.address.isLoopback
                ? Self.add(miss, to: &local, limit: MissQueue.localLimit)
                : Self.add(miss, to: &misses, limit: MissQueue.limit)
        }

        private static func add(
            _ miss: Miss,
            to queue: inout ClientQueue<Miss>,
            limit: Int
        ) -> Bool {
            let octets = miss.octetCount
            let free = limit - queue.count
            let freeOctets = limit * MissQueue.meanOctets - queue.weight
            let client = miss.clientContext.network(isProven: false)
            return queue.append(miss, of: client, weight: octets) { count, weight in
                count < free && weight + octets <= freeOctets
            }
        }

        mutating func next(_ limit: Int, _ next: inout [Miss]) {
            if !own.isEmpty { swap(&next, &own) }
            while next.count < limit, local.count + misses.count > 0 {
                if let miss = Self.pop(&local) { next.append(miss) }
                if let miss = Self.pop(&misses) { next.append(miss) }
            }
        }

        private static func pop(_ queue: inout ClientQueue<Miss>) -> Miss? {
            queue.pop(weighing: { $0.octetCount })
        }
    }

    /// This limit is high for a restart: thousands of queries can wait in a socket of systemd.
    ///
    /// All these queries are misses while the snapshot is being loaded.
    private static let localLimit = 16_384

    private static let limit = 8_192

    private static let meanOctets = 128

    private static let refreshLimit = 8_192

    private static let ownLimit = 256

    static let row = 64

    package let dropped = Atomic<UInt64>(0)

    @ServiceLoop
    package init(
        refresh: @escaping @ServiceLoop (Refresh) -> Void,
        _ handler: @escaping @ServiceLoop (Miss) -> Void
    ) {
        let box = Box()
        self.box = box
        (self.refresh, self.handler) = (refresh, handler)
        wakeup = LoopWakeup {
            guard let queue = box.queue else { return }
            if queue.handleRow() { queue.wakeup.ring() }
        }
        box.queue = self
    }

    @ServiceLoop
    package func handleAll() {
        while handleRow() {}
    }

    @ServiceLoop
    func handleRow() -> Bool {
        var misses: [Miss] = []
        swap(&misses, &box.row)
        let (refreshes, hasMore) = waiting.withLock { waiting in
            waiting.next(Self.row, &misses)
            return (waiting.nextRefreshes(Self.row), !waiting.isEmpty)
        }
        for each in refreshes { refresh(each) }
        for miss in misses { handler(miss) }
        misses.empty()
        swap(&misses, &box.row)
        return hasMore
    }

    /// Queues misses; thread-safe, does not block.
    ///
    /// - Parameter own: health check queries.
    package func take(_ misses: [Miss], own: [Miss] = []) {
        let lost = waiting.withLock { waiting in
            var lost = 0
            for miss in misses where !waiting.add(miss) { lost += 1 }
            guard !own.isEmpty else { return lost }
            waiting.own += own.prefix(Self.ownLimit - waiting.own.count)
            return lost
        }
        if lost > 0 { dropped.add(UInt64(lost), ordering: .relaxed) }
        wakeup.ring()
    }

    /// Ignores the refresh if the queue is full; thread-safe, does not block.
    func take(refresh query: Query, of client: ClientNetwork) {
        waiting.withLock { waiting in
            guard waiting.refreshes.count < Self.refreshLimit else { return }
            waiting.refreshes.append(Refresh(query: query, client: client))
        }
        wakeup.ring()
    }
}

extension Array {
    /// Removes all elements; `removeAll(keepingCapacity: true)` would take 160 instructions.
    mutating func empty() { while popLast() != nil {} }
}

@ServiceLoop
private final class Box {
    weak var queue: MissQueue?

    var row: [Miss] = []
}
