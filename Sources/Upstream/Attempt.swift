// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Socket that waits for the reply to an attempt.
@ServiceLoop
protocol AttemptCarrier: AnyObject {
    func cancel(_ attempt: Attempt)
}

/// One query to one server, from its start to its result.
///
/// ``Forwarder`` and the transports store their state of the query here.
@ServiceLoop
package final class Attempt {
    package let query: Query

    package let deadline: Instant

    package let cancellation: CancellationSignal?

    /// Record of this attempt in a trace of the query; nil if the query is not traced.
    package let place: Trace.Place?

    /// Start of an earlier unanswered attempt at the same server; nil if there was none.
    ///
    /// A connection that has received no data since this time is not used.
    private(set) var earlier: Instant?

    /// True if the query has an OPT record; false for a server without EDNS (RFC 6891 §7).
    package var usesEDNS: Bool { !omitsEDNS }
    private var omitsEDNS = false

    /// True if the query is repeated because the server rejected EDNS.
    private(set) var hasRejectedEDNS = false

    /// Number of the attempt in the group's plan, and index of the server in the group.
    let (number, server): (Int, Int)

    /// Time at which an ``UpstreamGroup`` sent the query; 0 if no group sent it.
    let began: Instant

    private(set) var sent = Instant(nanoseconds: 0)

    /// Result; valid in the completion handler.
    package var outcome: Outcome { result }
    private var result: Outcome = .failure(.timedOut)

    /// Time of the result; nil if `forwarder` did not count the attempt.
    private(set) var ended: Instant?

    package typealias Outcome = Result<UpstreamReply, UpstreamError>

    /// Forwarder that counts the result; nil before the query was sent, and after the result.
    private var forwarder: Forwarder?

    /// Socket that waits for the reply; nil before the query was sent, and after the result.
    private var carrier: (any AttemptCarrier)?

    /// Query in a datagram; nil unless a ``UDPExchanger`` waits for the reply.
    var datagram: (exchange: UpstreamExchange, transport: PlainTransport)?

    /// Next attempt that waits at the same UDP socket.
    var next: Attempt?

    private var completion: Completion<Attempt>?

    /// Creates an attempt without sending the query.
    ///
    /// - Parameter completion: receives the ended attempt, possibly before ``Forwarding/ask(_:)``
    ///   returns.
    package init(
        _ query: Query,
        deadline: Instant,
        repeating earlier: Instant? = nil,
        cancellation: CancellationSignal? = nil,
        place: Trace.Place? = nil,
        number: Int = 0,
        server: Int = 0,
        began: Instant = Instant(nanoseconds: 0),
        _ completion: consuming Completion<Attempt>
    ) {
        self.query = query
        self.deadline = deadline
        self.earlier = earlier
        self.cancellation = cancellation
        self.place = place
        (self.number, self.server) = (number, server)
        self.began = began
        self.completion = consume completion
    }

    /// Client whose limits apply to the query; nil for a query of the daemon itself.
    var client: ClientNetwork? { cancellation?.account as? ClientNetwork }

    /// True after the completion, for example because the server was withdrawn.
    var isOver: Bool { completion == nil }

    var isCancelled: Bool { cancellation?.isCancelled ?? false }

    func begin(at forwarder: Forwarder, _ now: Instant, usesEDNS: Bool) {
        self.forwarder = forwarder
        (sent, omitsEDNS) = (now, !usesEDNS)
    }

    func dropEDNS() {
        (omitsEDNS, hasRejectedEDNS, earlier) = (true, true, nil)
    }

    /// Records the socket that waits for the reply, so that the query can be cancelled.
    func wasSent(by carrier: any AttemptCarrier) {
        self.carrier = carrier
        cancellation?.whenCancelled { [self] in self.carrier?.cancel(self) }
    }

    func withdraw() {
        carrier?.cancel(self)
        complete(.failure(.withdrawn))
    }

    /// Receives the transport's result, once for each call of ``UpstreamTransport/carry(_:)``.
    package func end(_ outcome: consuming Outcome) {
        if let forwarder {
            forwarder.received(outcome, to: self)
        } else {
            complete(outcome)
        }
    }

    func complete(_ outcome: consuming Outcome, at ended: Instant? = nil) {
        (forwarder, carrier) = (nil, nil)
        guard let completion = completion.take() else { return }
        result = outcome
        self.ended = ended
        completion(self)
    }

    /// Returns the result without a copy.
    func takeOutcome() -> Outcome {
        var taken = Outcome.failure(.timedOut)
        swap(&taken, &result)
        return taken
    }
}
