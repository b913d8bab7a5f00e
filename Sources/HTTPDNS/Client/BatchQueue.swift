// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Queue of names that wait for a vendor call; returns the names of one call at a time.
///
/// Each client has its own queue of names. The next call is for the client with the fewest calls in
/// flight. Clients with equally many calls are served in round-robin order. If several clients wait
/// for a name, the queue of each of them has an entry for the name. The call for the name removes
/// all these entries.
///
/// A slow or failing name affects all names of its call. Therefore a call carries the names of one
/// client only. All names of a call request the same families.
package struct BatchQueue: Sendable {
    /// Name and families to request; equal questions are queued once.
    package struct Question: Sendable, Hashable {
        package let name: Name
        package let families: Families

        package init(name: Name, families: Families) {
            self.name = name
            self.families = families
        }
    }

    /// Names of the next call.
    package struct Batch: Sendable {
        /// Client from whose queue the names come; nil for the daemon itself.
        let client: ClientNetwork?

        /// Questions with equal families; not empty.
        fileprivate(set) var questions: [Question] = []

        /// Other clients that wait for each question.
        fileprivate(set) var others: [Set<ClientNetwork?>] = []
    }

    /// Entry in the queue of a client: a question with its sequence number.
    private struct Entry: Sendable {
        let question: Question
        let number: UInt64
    }

    /// State of a queued question: its sequence number, and the clients whose queues contain it.
    private struct Place: Sendable {
        let number: UInt64
        var clients: Set<ClientNetwork?> = []
    }

    /// Key of one queue: a client and the families of its names, which may share a call.
    private struct Line: Hashable {
        let families: Families

        /// Nil for names of the daemon itself.
        let client: ClientNetwork?
    }

    private var waiting: [Question: Place] = [:]

    /// Queues of the clients, oldest entry first.
    ///
    /// An entry is obsolete if `waiting` does not contain its question with the same number.
    private var lines: [Line: ArraySlice<Entry>] = [:]

    /// Keys of `lines`, each once, in round-robin order.
    private var turns: [Line] = []

    /// Number of entries in all queues, and number of obsolete entries among them.
    private var entries = 0
    private var left = 0

    private var next: UInt64 = 0

    /// Number of queued questions.
    package var count: Int { waiting.count }

    /// Number of queues of clients, including empty queues that are not removed yet.
    var lineCount: Int { lines.count }

    package init() {}
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question to the queue of `client`, unless the queue contains it already.
    ///
    /// If there are ``ClientLimits/queuedEntries`` entries, only a question that is in no queue is
    /// added.
    package mutating func add(_ question: Question, of client: ClientNetwork? = nil) {
        var place = waiting[question] ?? Place(number: next)
        guard place.clients.isEmpty || entries < ClientLimits.queuedEntries,
            place.clients.insert(client).inserted
        else { return }
        if place.number == next { next += 1 }
        waiting[question] = place
        let line = Line(families: question.families, client: client)
        if lines[line] == nil { turns.append(line) }
        lines[line, default: []].append(Entry(question: question, number: place.number))
        entries += 1
    }

    /// Removes a question from the queues of all clients.
    package mutating func remove(_ question: Question) {
        guard let place = waiting.removeValue(forKey: question) else { return }
        left += place.clients.count
        tidy()
    }

    /// Removes and returns the names of the next call.
    ///
    /// - Parameters:
    ///   - shares: calls in flight.
    ///   - fit: returns true if one call can carry the names; one name always fits.
    /// - Returns: nil if no queued question may be sent.
    package mutating func nextBatch(
        _ shares: CallShares,
        fit: ([Name]) -> Bool
    ) -> Batch? {
        guard let turn = nextTurn(shares) else { return nil }
        let line = turns.remove(at: turn)
        // Taken out of the table, because a second reference would copy the entries.
        guard var queued = lines.removeValue(forKey: line) else { return nil }
        var batch = Batch(client: line.client)
        while let entry = queued.first {
            if isWaiting(entry) {
                let names = batch.questions.map(\.name) + [entry.question.name]
                guard names.count == 1 || fit(names) else { break }
                var others = waiting.removeValue(forKey: entry.question)?.clients ?? []
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

    /// Returns the index in `turns` of the queue to serve next, and removes empty queues before it.
    ///
    /// The search ends at the first client without a call in flight. Therefore it passes at most as
    /// many clients as there are calls in flight.
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

    /// Removes the obsolete entries, once they are more than half of all entries.
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
