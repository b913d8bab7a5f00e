// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Queue of names that wait for a vendor call.
///
/// Each DNS client has its own queues; a name is queued for each client that waits for the name.
/// The next call is for the client with the fewest calls in flight; clients with equally many calls
/// take turns. If proven and other clients wait, every second call is for a proven client. A call
/// has only names of one client, because one slow name delays the whole call.
package struct BatchQueue: Sendable {
    /// Name to look up; all names of a call have equal families and parameters.
    package struct Question: Sendable, Hashable {
        /// Hash of the name, computed once because a question is hashed often.
        private let hash: UInt64

        package let name: Name
        package let families: Families

        package let parameters: RouteParameters?

        private static let nameHash = NameHash(seed: .random(in: .min ... .max))

        package init(name: Name, families: Families, parameters: RouteParameters? = nil) {
            self.name = name
            self.families = families
            self.parameters = parameters
            hash = Self.nameHash(name.octets.rawSpan, type: 0)
        }

        /// Creates a question with the name and parameters of `other`, and reuses its hash.
        init(_ other: Question, _ families: Families) {
            (hash, name, parameters) = (other.hash, other.name, other.parameters)
            self.families = families
        }

        /// Hashes only the name, because two questions for the same name are rare.
        package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    package struct Batch: Sendable {
        let client: ClientNetwork?

        fileprivate(set) var questions: [Question] = []

        /// Other clients that wait for the answers; one set for each element of `questions`.
        fileprivate(set) var others: [Set<ClientNetwork?>] = []
    }

    private struct Entry: Sendable {
        let question: Question
        let number: UInt64
    }

    private struct Place: Sendable {
        let number: UInt64

        /// First client that waited for the name; the name counts against the share of this client.
        let owner: ClientNetwork?

        var clients: Set<ClientNetwork?> = []
    }

    /// Queue of names with equal families and parameters, oldest entry first.
    ///
    /// After the removal of a name, its entries stay, but are invalid. An entry is invalid if its
    /// question and number are not in `waiting`.
    private struct Line: Sendable {
        let families: Families
        let parameters: RouteParameters?

        var entries: ArraySlice<Entry>

        func carries(_ question: Question) -> Bool {
            families == question.families && parameters == question.parameters
        }
    }

    private var waiting: [Question: Place] = [:]

    /// Queues of each client, in the order of their next calls; no array is empty.
    private var lines: [ClientNetwork?: [Line]] = [:]

    /// Clients of one group that have queued names, in round-robin order.
    private struct Turns: Sendable {
        let isProven: Bool

        var clients: ArraySlice<ClientNetwork?> = []

        /// Removes the client at `index`; the indices of the clients before it increase by 1.
        mutating func remove(_ index: Int) {
            for place in stride(from: index, to: clients.startIndex, by: -1) {
                clients[place] = clients[place - 1]
            }
            clients.removeFirst()
        }
    }

    /// Groups of proven clients and of other clients; the group with the latest call is last.
    private var turns = [Turns(isProven: true), Turns(isProven: false)]

    private var entries = 0
    private var left = 0

    private var next: UInt64 = 0

    /// Number of queued names of each owner.
    private var shares = CallShares(of: ClientLimits.queuedNames)

    package var count: Int { waiting.count }

    /// True if half of the queue is reserved for proven clients and the daemon.
    var isReserved: Bool {
        get { shares.isReserved }
        set { shares.isReserved = newValue }
    }

    var lineCount: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// Returns the error that forbids another name of `client`; nil if there is capacity.
    @inline(__always)
    func refusal(of client: ClientNetwork?) -> VendorError? {
        if shares.free <= 0 { return .busy }
        return shares.admits(client) ? nil : .clientBusy
    }

    /// Returns the clients that wait for `question`; nil if the question is not queued.
    func clients(of question: Question) -> Set<ClientNetwork?>? { waiting[question]?.clients }
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question to the queue of `client`.
    ///
    /// If all queues together have ``ClientLimits/queuedEntries`` entries, a question is not added
    /// if another client has already queued this question. For a client without a proven address,
    /// half of this number is the limit.
    package mutating func add(_ question: Question, of client: ClientNetwork? = nil) {
        var place = waiting[question] ?? Place(number: next, owner: client)
        let most = ClientLimits.queuedEntries / (client.isProven ? 1 : 2)
        guard place.clients.isEmpty || entries < most,
            place.clients.insert(client).inserted
        else { return }
        if place.number == next {
            next += 1
            shares.begin(client)
        }
        waiting[question] = place
        let entry = Entry(question: question, number: place.number)
        if lines[client] == nil { appendTurn(client) }
        if let index = lines[client]?.firstIndex(where: { $0.carries(question) }) {
            lines[client]?[index].entries.append(entry)
        } else {
            let line = Line(
                families: question.families,
                parameters: question.parameters,
                entries: [entry]
            )
            lines[client, default: []].append(line)
        }
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
    /// - Parameters:
    ///   - fit: returns true if the names fit into one call.
    ///   - isOld: returns true if a name has waited too long. If the oldest name of a queue has
    ///     waited too long, the newest names are taken first. Otherwise, while a client queries too
    ///     many names, each name would get a call only shortly before its deadline.
    package mutating func nextBatch(
        _ shares: CallShares,
        fit: ([Name]) -> Bool,
        isOld: (Question) -> Bool = { _ in false }
    ) -> Batch? {
        guard let client = nextClient(shares) else { return nil }
        guard var own = lines.removeValue(forKey: client) else { return nil }
        var line = own.removeFirst()
        var batch = Batch(client: client)
        var names: [Name] = []
        let isReversed = line.entries.first.map { isOld($0.question) } ?? false
        while let entry = isReversed ? line.entries.last : line.entries.first {
            if isWaiting(entry) {
                names.append(entry.question.name)
                guard names.count == 1 || fit(names) else { break }
                var others = take(entry.question)?.clients ?? []
                others.remove(client)
                left += others.count
                batch.questions.append(entry.question)
                batch.others.append(others)
            } else {
                left -= 1
            }
            if isReversed { line.entries.removeLast() } else { line.entries.removeFirst() }
            entries -= 1
        }
        if !line.entries.isEmpty { own.append(line) }
        if !own.isEmpty {
            lines[client] = own
            appendTurn(client)
        }
        tidy()
        return batch
    }

    private mutating func appendTurn(_ client: ClientNetwork?) {
        turns[turns[0].isProven == client.isProven ? 0 : 1].clients.append(client)
    }

    /// Removes and returns the client of the next call.
    ///
    /// The outer optional is nil if no call may start, the inner optional for the daemon itself.
    private mutating func nextClient(_ shares: CallShares) -> ClientNetwork?? {
        for group in turns.indices {
            guard let index = nextTurn(of: group, shares) else { continue }
            let client = turns[group].clients[index]
            turns[group].remove(index)
            turns.append(turns.remove(at: group))
            return client
        }
        return nil
    }

    /// Returns the index of the next client of a group; nil if no call of the group may start.
    ///
    /// Removes clients without queued names. Stops at the first client without calls in flight.
    private mutating func nextTurn(of group: Int, _ shares: CallShares) -> Int? {
        guard shares.free(isProven: turns[group].isProven) > 0 else { return nil }
        var best: (index: Int, calls: Int)?
        var index = turns[group].clients.startIndex
        while index < turns[group].clients.endIndex {
            let client = turns[group].clients[index]
            if !removeInvalid(of: client) {
                turns[group].remove(index)
                // `remove` has increased the indices of the clients before `index` by 1.
                best?.index += 1
            } else {
                let calls = shares.count(of: client)
                if calls == 0 { return index }
                if shares.admits(client), best.map({ calls < $0.calls }) ?? true {
                    best = (index, calls)
                }
            }
            index += 1
        }
        return best?.index
    }

    /// Removes the invalid entries before the first valid entry of a client.
    ///
    /// Returns false if the client has no valid entry.
    private mutating func removeInvalid(of client: ClientNetwork?) -> Bool {
        while let line = lines[client]?.first {
            if let first = line.entries.first {
                if isWaiting(first) { return true }
                lines[client]?[0].entries.removeFirst()
                entries -= 1
                left -= 1
            } else {
                lines[client]?.removeFirst()
            }
        }
        lines[client] = nil
        return false
    }

    private func isWaiting(_ entry: Entry) -> Bool {
        waiting[entry.question]?.number == entry.number
    }

    private mutating func tidy() {
        guard left > entries / 2 + 64 else { return }
        for client in turns.flatMap(\.clients) {
            var own = lines.removeValue(forKey: client) ?? []
            for index in own.indices {
                own[index].entries = own[index].entries.filter(isWaiting)[...]
            }
            own.removeAll(where: \.entries.isEmpty)
            if !own.isEmpty { lines[client] = own }
        }
        for group in turns.indices { turns[group].clients.removeAll { lines[$0] == nil } }
        entries -= left
        left = 0
    }
}
