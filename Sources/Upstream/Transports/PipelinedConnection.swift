// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Connection with pipelined queries; replies may arrive in any order (RFC 7766 §6.2.1.1).
///
/// Queries can be queued before the connection is established.
@ServiceLoop
final class PipelinedConnection {
    typealias Opening =
        @ServiceLoop (Instant) async throws(UpstreamError) -> any OctetStream

    @ServiceLoop
    private final class Pending {
        let waiter = Waiter()
        let since: Instant
        var reply: [UInt8]?

        init(since: Instant) {
            self.since = since
        }
    }

    let begun: Instant

    /// True after the connection was established, even if it has ended.
    private(set) var wasOpen = false

    private(set) var lastReceived: Instant?

    /// True if a query timed out and no data arrived; another connection is then tried.
    ///
    /// The connection stays open: a client may have queried a name that the server does not answer.
    private(set) var isSilent = false

    private(set) var end: UpstreamError?

    private(set) var foreignReplies: UInt64 = 0

    private let clocks: Clocks
    private var stream: (any OctetStream)?

    private var pending: [UInt16: Pending] = [:]

    /// IDs of cancelled or expired queries that the server may still answer.
    private var givenUp: Set<UInt16> = []

    /// Octets to write; `isWriting` is true while a task writes them.
    private var outbox: [UInt8] = []
    private var isWriting = false

    private var inbox: [UInt8] = []

    private var idle = UpstreamLimits.idle

    private var isRetired = false

    /// True if the connection ends when no query is outstanding.
    private var closesWhenIdle = false

    private var random = SystemRandomNumberGenerator()

    init(_ clocks: Clocks, _ open: @escaping Opening) {
        self.clocks = clocks
        begun = clocks.now()
        ServiceLoop.task { await self.run(open) }
    }

    /// True if another query can be sent.
    ///
    /// If false, the next query uses a new connection.
    var isUsable: Bool {
        end == nil && !isRetired && givenUp.count < UpstreamLimits.givenUp
            && pending.count < UpstreamLimits.inFlight
    }

    /// Sends `query` with a new ID and waits for the reply with that ID.
    ///
    /// - Returns: the reply with the original ID of `query`.
    func ask(
        _ query: [UInt8],
        cancellation: CancellationSignal? = nil,
        deadline: Instant
    ) async throws(UpstreamError) -> [UInt8] {
        if let end { throw end }
        let entry = Pending(since: clocks.now())
        let id = freeID()
        pending[id] = entry
        send(query, id: id)
        cancellation?.whenCancelled { entry.waiter.resume(.cancelled) }
        let outcome = await entry.waiter.wait(until: deadline)
        if pending[id] === entry {
            pending[id] = nil
            givenUp.insert(id)
            closeIfDone()
        }
        switch outcome {
        case .ready:
            guard var reply = entry.reply else { throw end ?? .timedOut }
            // Frees the reply: the cancellation signal retains the entry until the resolution ends.
            entry.reply = nil
            reply[0] = query[0]
            reply[1] = query[1]
            return reply
        case .closed:
            throw end ?? .timedOut
        case .timedOut:
            // Without data for `fairWait`, the connection may be at fault, not the queried name.
            let silentSince = max(entry.since, lastReceived ?? clocks.now())
            isSilent = deadline - silentSince >= UpstreamLimits.fairWait
            throw .timedOut
        case .cancelled:
            throw .broken("was cancelled")
        }
    }

    /// Accepts no more queries; the connection ends after the last reply.
    func retire() {
        isRetired = true
        closeWhenIdle()
    }

    /// Ends the connection after the last reply; until then, more queries can be sent.
    func closeWhenIdle() {
        closesWhenIdle = true
        closeIfDone()
    }

    private func closeIfDone() {
        if closesWhenIdle, pending.isEmpty { close(.broken("the connection was retired")) }
    }

    /// Closes the connection; waiting queries fail with `reason`.
    func close(_ reason: UpstreamError) {
        guard end == nil else { return }
        end = reason
        stream?.close()
        stream = nil
        (inbox, outbox, givenUp) = ([], [], [])
        let waiting = pending.values
        pending = [:]
        for entry in waiting { entry.waiter.resume(.closed) }
    }

    private func freeID() -> UInt16 {
        while true {
            let id = UInt16.random(in: 0...UInt16.max, using: &random)
            if pending[id] == nil, !givenUp.contains(id) { return id }
        }
    }
}

// MARK: - Writing

extension PipelinedConnection {
    private func send(_ query: [UInt8], id: UInt16) {
        // Length and message are sent together (RFC 7766 §8).
        outbox += [UInt8(query.count >> 8), UInt8(query.count & 0xFF)]
        outbox += [UInt8(id >> 8), UInt8(id & 0xFF)]
        outbox += query[2...]
        guard let stream else { return }
        write(to: stream)
    }

    /// Starts to write; queries of one turn of the service loop are sent together.
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
    private func run(_ open: Opening) async {
        do throws(UpstreamError) {
            let stream = try await open(begun + UpstreamLimits.connect)
            guard end == nil else {
                stream.close()
                return
            }
            self.stream = stream
            wasOpen = true
            lastReceived = clocks.now()
            write(to: stream)
            while end == nil { try await read(from: stream) }
        } catch {
            close(error)
        }
    }

    private func read(from stream: any OctetStream) async throws(UpstreamError) {
        let octets: [UInt8]
        do throws(SocketError) {
            octets = try await stream.read(upTo: 65_535, deadline: clocks.now() + idle)
        } catch .timedOut {
            if pending.isEmpty { close(.broken("the connection was idle")) }
            return
        } catch {
            throw UpstreamError(error)
        }
        guard !octets.isEmpty else { throw UpstreamError(.closed) }
        lastReceived = clocks.now()
        isSilent = false
        inbox += octets
        var start = 0
        while end == nil, inbox.count - start >= 2 {
            let count = Int(inbox[start]) << 8 | Int(inbox[start + 1])
            guard inbox.count - start - 2 >= count else { break }
            take(Array(inbox[(start + 2)..<(start + 2 + count)]))
            start += 2 + count
        }
        guard end == nil else { return }
        inbox.removeFirst(start)
        closeIfDone()
    }

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

    /// Counts an unmatched message, and ends the connection at ``UpstreamLimits/foreignReplies``.
    ///
    /// On a connection, only the server can send such a message.
    private func noteForeign() {
        foreignReplies += 1
        if foreignReplies >= UpstreamLimits.foreignReplies {
            close(.broken("sent messages that answer no query"))
        }
    }

    /// Sets the idle timeout that the server sent.
    func keep(for timeout: Duration) { idle = min(timeout, UpstreamLimits.longestIdle) }
}
