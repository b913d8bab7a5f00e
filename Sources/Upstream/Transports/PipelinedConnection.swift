// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// A connection on which queries are sent as they come and replies are taken in any order
/// (RFC 7766 §6.2.1.1).
///
/// Queries may come before it is open; they leave with the handshake's end.  It ends when it has
/// been without work for a while, when the server ends it, or when it breaks, and is not used again:
/// ``StreamAsker`` makes the next one.
@ServiceLoop
final class PipelinedConnection {
    /// Makes the connection.
    typealias Opening =
        @ServiceLoop (ContinuousClock.Instant) async throws(UpstreamError) -> any OctetStream

    /// Somebody who waits for a reply.
    @ServiceLoop
    private final class Pending {
        let waiter = Waiter()
        let since: ContinuousClock.Instant
        var reply: [UInt8]?

        init(since: ContinuousClock.Instant) {
            self.since = since
        }
    }

    /// When it was begun.
    let begun: ContinuousClock.Instant

    /// Whether the handshake was done.
    private(set) var wasOpen = false

    /// When anything last came.
    private(set) var lastHeard: ContinuousClock.Instant?

    /// Why it is over; nil while it is not.
    private(set) var end: UpstreamError?

    /// Messages that answered nothing.
    private(set) var foreignReplies: UInt64 = 0

    private let clocks: Clocks
    private var stream: (any OctetStream)?

    /// Who waits, by the ID of the query.
    private var pending: [UInt16: Pending] = [:]

    /// IDs of queries that nobody waits for any more, but whose replies may come.
    private var givenUp: Set<UInt16> = []

    /// What is to be written, and whether somebody is writing.
    private var outbox: [UInt8] = []
    private var isWriting = false

    /// What has come of the next message.
    private var inbox: [UInt8] = []

    /// How long it is kept without work.
    private var idle = UpstreamLimits.idle

    /// Whether no more queries come.
    private var isRetired = false

    private var random = SystemRandomNumberGenerator()

    /// Begins a connection.
    init(_ clocks: Clocks, _ open: @escaping Opening) {
        self.clocks = clocks
        begun = clocks.now()
        ServiceLoop.task { await self.run(open) }
    }

    /// Whether another query may be put on it.
    ///
    /// A full connection is followed by another one: clients' queries must not keep out a probe.
    var isUsable: Bool {
        end == nil && !isRetired && givenUp.count < UpstreamLimits.givenUp
            && pending.count < UpstreamLimits.inFlight
    }

    /// Sends `query`, whose ID is replaced, and waits for the reply with that ID.
    ///
    /// - Returns: the reply, its ID put back to that of `query`.
    func ask(
        _ query: [UInt8],
        cancellation: CancellationSignal? = nil,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> [UInt8] {
        if let end { throw end }
        let entry = Pending(since: clocks.now())
        let id = freeID()
        pending[id] = entry
        send(query, id: id)
        cancellation?.whenCancelled { [weak entry] in entry?.waiter.resume(.cancelled) }
        let outcome = await entry.waiter.wait(until: deadline)
        if pending[id] === entry {
            pending[id] = nil
            givenUp.insert(id)
        }
        switch outcome {
        case .ready:
            guard var reply = entry.reply else { throw end ?? .timedOut }
            reply[0] = query[0]
            reply[1] = query[1]
            return reply
        case .closed:
            throw end ?? .timedOut
        case .timedOut:
            // Nothing at all for a fair time: it is the path, not the question.
            let silentSince = max(entry.since, lastHeard ?? clocks.now())
            if clocks.now() - silentSince >= UpstreamLimits.fairWait {
                close(.broken("has been silent"))
            }
            throw .timedOut
        case .cancelled:
            throw .broken("was given up")
        }
    }

    /// Takes no more queries, and ends when those it has are answered.
    func retire() {
        isRetired = true
        if pending.isEmpty { close(.broken("was retired")) }
    }

    /// Ends the connection; who waits on it gets `reason`.
    func close(_ reason: UpstreamError) {
        guard end == nil else { return }
        end = reason
        stream?.close()
        stream = nil
        let waiting = pending.values
        pending = [:]
        for entry in waiting { entry.waiter.resume(.closed) }
    }

    /// An ID that no query on this connection has, drawn by lot.
    private func freeID() -> UInt16 {
        while true {
            let id = UInt16.random(in: 0...UInt16.max, using: &random)
            if pending[id] == nil, !givenUp.contains(id) { return id }
        }
    }
}

// MARK: - Writing

extension PipelinedConnection {
    /// Puts a query behind those that wait to be written.
    private func send(_ query: [UInt8], id: UInt16) {
        // Length and message go out together (RFC 7766 §8).
        outbox += [UInt8(query.count >> 8), UInt8(query.count & 0xFF)]
        outbox += [UInt8(id >> 8), UInt8(id & 0xFF)]
        outbox += query[2...]
        guard let stream else { return }
        write(to: stream)
    }

    /// Begins to write; what comes until the next turn of the loop goes with it.
    private func write(to stream: any OctetStream) {
        guard !isWriting, !outbox.isEmpty else { return }
        isWriting = true
        ServiceLoop.task { [self] in
            defer { isWriting = false }
            do throws(SocketError) {
                while end == nil, !outbox.isEmpty {
                    let octets = outbox
                    outbox = []
                    let limit = clocks.now() + UpstreamLimits.write
                    try await stream.write(octets, deadline: limit)
                }
            } catch {
                close(UpstreamError(error))
            }
        }
    }
}

// MARK: - Reading

extension PipelinedConnection {
    /// The connection's life.
    private func run(_ open: Opening) async {
        do throws(UpstreamError) {
            let stream = try await open(begun + UpstreamLimits.connect)
            guard end == nil else {
                stream.close()
                return
            }
            self.stream = stream
            wasOpen = true
            lastHeard = clocks.now()
            write(to: stream)
            while end == nil { try await read(from: stream) }
        } catch {
            close(error)
        }
    }

    /// Takes what comes next, or ends a connection that has been without work.
    private func read(from stream: any OctetStream) async throws(UpstreamError) {
        let octets: [UInt8]
        do throws(SocketError) {
            octets = try await stream.read(upTo: 65_535, deadline: clocks.now() + idle)
        } catch .timedOut {
            if pending.isEmpty { close(.broken("was without work")) }
            return
        } catch {
            throw UpstreamError(error)
        }
        guard !octets.isEmpty else { throw UpstreamError(.closed) }
        lastHeard = clocks.now()
        inbox += octets
        var start = 0
        while end == nil, inbox.count - start >= 2 {
            let count = Int(inbox[start]) << 8 | Int(inbox[start + 1])
            guard inbox.count - start - 2 >= count else { break }
            take(Array(inbox[(start + 2)..<(start + 2 + count)]))
            start += 2 + count
        }
        inbox.removeFirst(start)
        if isRetired, pending.isEmpty { close(.broken("was retired")) }
    }

    /// Gives a reply to who waits for it.
    private func take(_ reply: [UInt8]) {
        guard reply.count >= 12 else { return noteForeign() }
        let id = UInt16(reply[0]) << 8 | UInt16(reply[1])
        guard let entry = pending.removeValue(forKey: id) else {
            if givenUp.remove(id) == nil { noteForeign() }
            return
        }
        entry.reply = reply
        entry.waiter.resume(.ready)
    }

    /// Counts a message that answers nothing; only the server can have sent it, so a few are enough.
    private func noteForeign() {
        foreignReplies += 1
        if foreignReplies >= UpstreamLimits.foreignReplies {
            close(.broken("sent messages that answer no query"))
        }
    }

    /// What the server says of how long a connection may be without work (RFC 7828 §3.4).
    func keep(for timeout: Duration) {
        idle = min(timeout, UpstreamLimits.longestIdle)
        if idle == .zero { retire() }
    }
}
