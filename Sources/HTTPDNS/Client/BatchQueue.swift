// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Queue of names that wait for a vendor call.
///
/// Each DNS client has its own queue. The next call is for the client with the fewest calls in
/// flight, then round-robin. A name is in the queues of all clients that wait for it. A call has
/// names of one client, because a slow name delays the whole call.
package struct BatchQueue: Sendable {
    /// Name to look up; all names of a call have equal families and parameters.
    package struct Question: Sendable, Hashable {
        package let name: Name
        package let families: Families

        package let parameters: RouteParameters?

        package init(name: Name, families: Families, parameters: RouteParameters? = nil) {
            self.name = name
            self.families = families
            self.parameters = parameters
        }
    }

    package struct Batch: Sendable {
        let client: ClientNetwork?

        fileprivate(set) var questions: [Question] = []

        /// For each of `questions`: the other clients that wait for the answer.
        fileprivate(set) var others: [Set<ClientNetwork?>] = []
    }

    private struct Entry: Sendable {
        let question: Question
        let number: UInt64
    }

    private struct Place: Sendable {
        let number: UInt64

        /// Client whose share has the name: the first that waited for it.
        let owner: ClientNetwork?

        var clients: Set<ClientNetwork?> = []
    }

    private struct Line: Hashable {
        let families: Families
        let parameters: RouteParameters?

        let client: ClientNetwork?
    }

    private var waiting: [Question: Place] = [:]

    /// Queues by families, parameters and client, oldest entry first.
    ///
    /// An entry is valid only if `waiting` has the same sequence number for the question.
    private var lines: [Line: ArraySlice<Entry>] = [:]

    private var turns: [Line] = []

    private var entries = 0
    private var left = 0

    private var next: UInt64 = 0

    /// Queued names by owner.
    private var shares = CallShares(of: ClientLimits.queuedNames)

    package var count: Int { waiting.count }

    var lineCount: Int { lines.count }

    package init() {}

    /// Returns the error that forbids a further name of `client`; nil if there is room.
    func refusal(of client: ClientNetwork?) -> VendorError? {
        if shares.free == 0 { return .busy }
        return shares.admits(client) ? nil : .clientBusy
    }
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question to the queue of `client`.
    ///
    /// At ``ClientLimits/queuedEntries`` entries in all queues, only a question that no queue has
    /// is added.
    package mutating func add(_ question: Question, of client: ClientNetwork? = nil) {
        var place = waiting[question] ?? Place(number: next, owner: client)
        guard place.clients.isEmpty || entries < ClientLimits.queuedEntries,
            place.clients.insert(client).inserted
        else { return }
        if place.number == next {
            next += 1
            shares.begin(client)
        }
        waiting[question] = place
        let line = Line(
            families: question.families,
            parameters: question.parameters,
            client: client
        )
        if lines[line] == nil { turns.append(line) }
        lines[line, default: []].append(Entry(question: question, number: place.number))
        entries += 1
    }

    package mutating func remove(_ question: Question) {
        guard let place = take(question) else { return }
        left += place.clients.count
        tidy()
    }

    private mutating func take(_ question: Question) -> Place? {
        guard let place = waiting.removeValue(forKey: question) else { return nil }
        shares.end(place.owner)
        return place
    }

    /// Removes and returns the names of the next call; nil if no call may start.
    ///
    /// `fit` returns true if the names fit into one call.
    package mutating func nextBatch(
        _ shares: CallShares,
        fit: ([Name]) -> Bool
    ) -> Batch? {
        guard let turn = nextTurn(shares) else { return nil }
        let line = turns.remove(at: turn)
        // A client with several queues gets as many turns as a client with one queue.
        let own = turns.filter { $0.client == line.client }
        if !own.isEmpty {
            turns.removeAll { $0.client == line.client }
            turns += own
        }
        guard var queued = lines.removeValue(forKey: line) else { return nil }
        var batch = Batch(client: line.client)
        while let entry = queued.first {
            if isWaiting(entry) {
                let names = batch.questions.map(\.name) + [entry.question.name]
                guard names.count == 1 || fit(names) else { break }
                var others = take(entry.question)?.clients ?? []
                others.remove(line.client)
                left += others.count
                batch.questions.append(entry.question)
                batch.others.append(others)
            } else {
                left -= 1
            }
            queued.removeFirst()
            entries -= 1
        }
        if !queued.isEmpty {
            lines[line] = queued
            turns.append(line)
        }
        tidy()
        return batch
    }

    /// Returns the index in `turns` of the next queue; removes empty queues before it.
    ///
    /// The next queue is that of a client without calls in flight, or with the fewest.
    private mutating func nextTurn(_ shares: CallShares) -> Int? {
        guard shares.free > 0 else { return nil }
        var best: (index: Int, calls: Int)?
        var index = 0
        while index < turns.count {
            let line = turns[index]
            while let first = lines[line]?.first, !isWaiting(first) {
                lines[line]?.removeFirst()
                entries -= 1
                left -= 1
            }
            guard lines[line]?.isEmpty == false else {
                lines[line] = nil
                turns.remove(at: index)
                continue
            }
            let calls = shares.count(of: line.client)
            if calls == 0 { return index }
            if shares.admits(line.client), best.map({ calls < $0.calls }) ?? true {
                best = (index, calls)
            }
            index += 1
        }
        return best?.index
    }

    private func isWaiting(_ entry: Entry) -> Bool {
        waiting[entry.question]?.number == entry.number
    }

    private mutating func tidy() {
        guard left > entries / 2 + 64 else { return }
        for line in turns {
            let queued = lines.removeValue(forKey: line)?.filter(isWaiting) ?? []
            if !queued.isEmpty { lines[line] = queued[...] }
        }
        turns.removeAll { lines[$0] == nil }
        entries -= left
        left = 0
    }
}
