// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// One query to one server, with the state that ``Forwarder`` and the transports store for it.
@ServiceLoop
package class Attempt {
    package final let query: Query

    package final let cancellation: CancellationSignal?

    package final var deadline: Instant { due }
    private final var due = Instant(nanoseconds: 0)

    final private(set) var place: Trace.Place?

    final private(set) var isOfBusyClient = false

    /// True if the query's connection was established, but ended without a reply to any query.
    package final var wasRefused = false

    /// Number of repetitions after a connection ended (``UpstreamLimits/repetitions``).
    final var repetitions = 0

    /// True if the query is sent over TCP instead of UDP, because earlier datagrams were lost.
    final private(set) var usesStream = false

    /// Start of an earlier unanswered attempt at the same server; nil if there was none.
    final private(set) var earlier: Instant?

    package final var usesEDNS: Bool { !omitsEDNS }
    private final var omitsEDNS = false

    /// True if this attempt repeats a query after the server has rejected EDNS.
    final private(set) var hasRejectedEDNS = false

    /// Sequence number of the attempt in the group's plan, and index of the server in the group.
    final private(set) var (number, server) = (0, 0)

    /// Time at which an ``UpstreamGroup`` started the attempt; 0 if no group sent the query.
    final private(set) var began = Instant(nanoseconds: 0)

    final private(set) var sent = Instant(nanoseconds: 0)

    /// Result; valid in the completion handler.
    package final var outcome: Outcome { result }
    private final var result: Outcome = .failure(.timedOut)

    /// Time of the result; nil if no forwarder counted the result.
    final private(set) var ended: Instant?

    package typealias Outcome = Result<UpstreamReply, UpstreamError>

    private final var forwarder: Forwarder?

    private final var carrier: UDPSocketSlot?

    /// Nil unless a ``UDPExchanger`` waits for the reply.
    final var datagram: Datagram?

    struct Datagram {
        let exchange: UpstreamExchange
        let transport: PlainTransport

        let index: Int
    }

    private final var completion: Completion<Attempt>?

    init(_ query: Query, cancellation: CancellationSignal?) {
        self.query = query
        self.cancellation = cancellation
    }

    /// Creates an attempt; sends nothing.
    ///
    /// - Parameter completion: may be called before ``Forwarding/ask(_:)`` returns.
    package convenience init(
        _ query: Query,
        deadline: Instant,
        repeating earlier: Instant? = nil,
        isOfBusyClient: Bool = false,
        cancellation: CancellationSignal? = nil,
        _ completion: consuming Completion<Attempt>
    ) {
        self.init(query, cancellation: cancellation)
        prepare(
            deadline: deadline,
            repeating: earlier,
            isOfBusyClient: isOfBusyClient,
            completion
        )
    }

    final func prepare(
        deadline: Instant,
        repeating earlier: Instant?,
        isOfBusyClient: Bool = false,
        usesStream: Bool = false,
        place: Trace.Place? = nil,
        number: Int = 0,
        server: Int = 0,
        began: Instant = Instant(nanoseconds: 0),
        _ completion: consuming Completion<Attempt>
    ) {
        (due, self.earlier, self.isOfBusyClient) = (deadline, earlier, isOfBusyClient)
        (wasRefused, repetitions) = (false, 0)
        (self.number, self.server, self.began) = (number, server, began)
        self.usesStream = usesStream
        // Unlike an assignment, `swap` needs no run-time exclusivity check.
        var place = place
        swap(&self.place, &place)
        var next: Completion<Attempt>? = consume completion
        swap(&self.completion, &next)
    }

    /// Client of the query; nil for a query of the daemon itself.
    final var client: ClientNetwork? { cancellation?.account as? ClientNetwork }

    final var isOver: Bool { completion == nil }

    final var isCancelled: Bool { cancellation?.isCancelled ?? false }

    final func begin(at forwarder: Forwarder, _ now: Instant, usesEDNS: Bool) {
        self.forwarder = forwarder
        (sent, omitsEDNS) = (now, !usesEDNS)
    }

    final func dropEDNS() {
        (omitsEDNS, hasRejectedEDNS, earlier) = (true, true, nil)
    }

    final func wasSent(by carrier: UDPSocketSlot) {
        self.carrier = carrier
        cancellation?.whenCancelled { [self] in self.carrier?.cancel(self) }
    }

    final func withdraw() {
        carrier?.cancel(self)
        complete(.failure(.withdrawn))
    }

    /// Receives the transport's result, once for each call of ``UpstreamTransport/carry(_:)``.
    package final func end(_ outcome: consuming Outcome) {
        if let forwarder {
            forwarder.received(outcome, to: self)
        } else {
            complete(outcome)
        }
    }

    final func complete(_ outcome: consuming Outcome, at ended: Instant? = nil) {
        (forwarder, carrier) = (nil, nil)
        guard let completion = completion.take() else { return }
        swap(&result, &outcome)
        self.ended = ended
        completion(self)
    }

    final func takeDatagram() -> Datagram? {
        var taken: Datagram?
        swap(&taken, &datagram)
        return taken
    }

    final func takeOutcome() -> Outcome {
        var taken = Outcome.failure(.timedOut)
        swap(&taken, &result)
        return taken
    }
}
