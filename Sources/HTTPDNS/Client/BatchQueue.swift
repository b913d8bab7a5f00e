// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

/// Queue of names that wait for a vendor call.
///
/// The next call is for the client with the fewest calls in flight. If both proven and other
/// clients wait, every second call is for a proven client. A call has only names of one client,
/// because one slow name delays the whole call.
///
/// Not copyable, because a copy would share the entries.
package struct BatchQueue: ~Copyable {
    /// Name to look up; all names of a call have equal families and parameters.
    package struct Question: Sendable, Hashable {
        /// Computed once, because a question is hashed often.
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

        init(_ other: Question, _ families: Families) {
            (hash, name, parameters) = (other.hash, other.name, other.parameters)
            self.families = families
        }

        /// Hashes only the name, because two questions with the same name are rare.
        package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    package struct Batch {
        let client: ClientNetwork?

        fileprivate(set) var questions = ShortArray<Question>()

        /// For each element of `questions`, the waiting clients except `client`.
        fileprivate(set) var others = ShortArray<Set<ClientNetwork?>>()
    }

    private final class Entry {
        let question: Question

        let since: Instant?

        /// First client that waited; the name counts against the share of this client.
        let owner: ClientNetwork?

        var others: Set<ClientNetwork?> = []

        /// `Client.lines` may still contain an entry after its name has left the queue.
        var isWaiting = true

        init(_ question: Question, of owner: ClientNetwork?, since: Instant?) {
            self.question = question
            self.owner = owner
            self.since = since
        }
    }

    /// Names with equal families and parameters, oldest entry first.
    private struct Line {
        let families: Families
        let parameters: RouteParameters?

        var entries: ArraySlice<Entry>

        func carries(_ question: Question) -> Bool {
            families == question.families && parameters == question.parameters
        }
    }

    private final class Client {
        let network: ClientNetwork?

        var lines: [Line] = []

        init(_ network: ClientNetwork?) { self.network = network }

        func append(_ entry: Entry) {
            let question = entry.question
            for index in lines.indices where lines[index].carries(question) {
                return lines[index].entries.append(entry)
            }
            lines.append(
                Line(
                    families: question.families,
                    parameters: question.parameters,
                    entries: [entry]
                )
            )
        }
    }

    private struct Turns {
        let isProven: Bool

        var clients: ArraySlice<Client> = []

        /// Removes the client at `index`; adds 1 to the indexes of all clients before it.
        mutating func remove(_ index: Int) {
            for place in stride(from: index, to: clients.startIndex, by: -1) {
                clients[place] = clients[place - 1]
            }
            clients.removeFirst()
        }
    }

    private var waiting: [Question: Entry] = [:]

    private var clients: [ClientNetwork?: Client] = [:]

    /// Groups of proven and of other clients; the group that got the latest call is last.
    private var turns = [Turns(isProven: true), Turns(isProven: false)]

    private var entries = 0

    /// Number of entries whose names have already left the queue.
    private var left = 0

    private var shares = CallShares(of: ClientLimits.queuedNames)

    package init() {}

    package var count: Int { waiting.count }

    var isReserved: Bool {
        get { shares.isReserved }
        set { shares.isReserved = newValue }
    }

    var lineCount: Int { clients.values.reduce(0) { $0 + $1.lines.count } }

    @inline(__always)
    func refusal(of client: ClientNetwork?) -> VendorError? {
        if shares.free <= 0 { return .busy }
        return shares.admits(client) ? nil : .clientBusy
    }

    func clients(of question: Question) -> Set<ClientNetwork?>? {
        waiting[question].map { $0.others.union([$0.owner]) }
    }
}

// MARK: - Changing

extension BatchQueue {
    /// Adds a question to the queue of `client`.
    ///
    /// If another client has already queued the question, this entry is added only if all queues
    /// together have fewer than ``ClientLimits/queuedEntries`` entries (half of this number for a
    /// client that is not proven).
    package mutating func add(
        _ question: Question,
        of client: ClientNetwork? = nil,
        since: Instant? = nil
    ) {
        let entry: Entry
        if let known = waiting[question] {
            let most = ClientLimits.queuedEntries / (client.isProven ? 1 : 2)
            guard entries < most, client != known.owner, known.others.insert(client).inserted
            else { return }
            entry = known
        } else {
            entry = Entry(question, of: client, since: since)
            waiting[question] = entry
            shares.begin(client)
        }
        entries += 1
        if let known = clients[client] { return known.append(entry) }
        let new = Client(client)
        new.append(entry)
        clients[client] = new
        turns[group(of: client)].clients.append(new)
    }

    package mutating func remove(_ question: Question) {
        guard let entry = waiting[question] else { return }
        take(entry)
        left += 1 + entry.others.count
        tidy()
    }

    private mutating func take(_ entry: Entry) {
        waiting[entry.question] = nil
        entry.isWaiting = false
        shares.end(entry.owner)
    }

    /// Removes and returns the names of the next call; nil if no call may start.
    ///
    /// If the oldest name of a queue has waited longer than ``ClientLimits/newestFirst``, the
    /// newest names are taken first. Without this rule, each name of a client that queries too many
    /// names would get a call only shortly before its deadline.
    package mutating func nextBatch(
        _ shares: borrowing CallShares,
        now: Instant,
        _ facts: borrowing VendorFacts,
        limit: Int
    ) -> Batch? {
        guard let client = nextClient(shares) else { return nil }
        var line = client.lines.removeFirst()
        var batch = Batch(client: client.network)
        var octets = 0
        let since = line.entries.first?.since ?? now
        let isReversed = now - since > ClientLimits.newestFirst
        while let entry = isReversed ? line.entries.last : line.entries.first {
            if entry.isWaiting {
                let name = entry.question.name
                guard batch.questions.count < limit,
                    facts.canCarry(name, after: batch.questions.count, &octets)
                else { break }
                take(entry)
                var others = entry.others
                if client.network != entry.owner {
                    others.remove(client.network)
                    others.insert(entry.owner)
                }
                left += others.count
                batch.questions.append(entry.question)
                batch.others.append(others)
            } else {
                left -= 1
            }
            if isReversed { line.entries.removeLast() } else { line.entries.removeFirst() }
            entries -= 1
        }
        if !line.entries.isEmpty { client.lines.append(line) }
        if client.lines.isEmpty {
            clients[client.network] = nil
            turns[group(of: client.network)].clients.removeLast()
        }
        tidy()
        return batch
    }

    private func group(of client: ClientNetwork?) -> Int {
        turns[0].isProven == client.isProven ? 0 : 1
    }

    private mutating func nextClient(_ shares: CallShares) -> Client? {
        for group in turns.indices {
            guard let index = nextTurn(of: group, shares) else { continue }
            let client = turns[group].clients[index]
            if turns[group].clients.count > 1 {
                turns[group].remove(index)
                turns[group].clients.append(client)
            }
            turns.swapAt(group, 1)
            return client
        }
        return nil
    }

    /// Returns the index of the client with the fewest calls in flight; nil if no call may start.
    ///
    /// The search ends at the first client that has no calls in flight.
    private mutating func nextTurn(of group: Int, _ shares: CallShares) -> Int? {
        let free = shares.free(isProven: turns[group].isProven)
        guard free > 0 else { return nil }
        var best: (index: Int, calls: Int)?
        var index = turns[group].clients.startIndex
        while index < turns[group].clients.endIndex {
            let client = turns[group].clients[index]
            let calls = shares.count(of: client.network)
            if calls < best?.calls ?? .max,
                shares.admits(client.network, used: calls, free: free)
            {
                if removeInvalid(of: client) {
                    if calls == 0 { return index }
                    best = (index, calls)
                } else {
                    turns[group].remove(index)
                    best?.index += 1
                }
            }
            index += 1
        }
        return best?.index
    }

    /// Returns false if the client has no queued name.
    private mutating func removeInvalid(of client: Client) -> Bool {
        while let line = client.lines.first {
            if let first = line.entries.first {
                if first.isWaiting { return true }
                client.lines[0].entries.removeFirst()
                entries -= 1
                left -= 1
            } else {
                client.lines.removeFirst()
            }
        }
        clients[client.network] = nil
        return false
    }

    private mutating func tidy() {
        guard left > entries / 2 + 64 else { return }
        for client in clients.values {
            for index in client.lines.indices {
                client.lines[index].entries = client.lines[index].entries.filter(\.isWaiting)[...]
            }
            client.lines.removeAll(where: \.entries.isEmpty)
        }
        for group in turns.indices { turns[group].clients.removeAll(where: \.lines.isEmpty) }
        clients = clients.filter { !$0.value.lines.isEmpty }
        entries -= left
        left = 0
    }
}
