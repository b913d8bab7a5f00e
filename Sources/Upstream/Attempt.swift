// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Socket that waits for the reply to an attempt.
@ServiceLoop
protocol AttemptCarrier: AnyObject {
    /// Ends the attempt, if the reply has not arrived.
    func cancel(_ attempt: Attempt)
}

/// One query to one server, from its start to its result.
///
/// An attempt passes through the stages below a group, which keep their facts about it here: none
/// of them needs a completion handler of its own.
@ServiceLoop
package final class Attempt {
    package let query: Query

    package let deadline: Instant

    /// Signal that cancels the query; nil if the query is never cancelled.
    package let cancellation: CancellationSignal?

    /// Records details of the exchange; nil if the query is not traced.
    package let place: Trace.Place?

    /// Start of an earlier unanswered attempt, or nil.
    ///
    /// A connection that has been silent since then is not used.
    package private(set) var earlier: Instant?

    /// True if the query has an OPT record; false if the server does not support EDNS (RFC 6891
    /// §7).
    package private(set) var usesEDNS = true

    /// True if the query is repeated because the server has rejected EDNS.
    private(set) var hasRejectedEDNS = false

    /// Number in the plan of the group, and index of the server in the group.
    let (number, server): (Int, Int)

    /// Start of the attempt in the group.
    let began: Instant

    /// Time at which the server sent the query.
    private(set) var sent = Instant(nanoseconds: 0)

    /// Result; valid in the completion handler.
    package private(set) var outcome: Outcome = .failure(.timedOut)

    /// Result of an attempt.
    package typealias Outcome = Result<UpstreamReply, UpstreamError>

    /// Server that counts the result; nil before it has sent the query, and at the end.
    private var forwarder: Forwarder?

    /// Socket that waits for the reply; nil before the query was sent, and at the end.
    private var carrier: (any AttemptCarrier)?

    private var completion: Completion<Attempt>?

    /// Creates an attempt that was not sent yet.
    ///
    /// - Parameter completion: receives this attempt at its end, possibly before
    ///   ``Forwarding/ask(_:)`` returns.
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

    /// Client to which limits charge the query; nil for the daemon itself.
    var client: ClientNetwork? { cancellation?.client as? ClientNetwork }

    /// True if the query was cancelled.
    var isCancelled: Bool { cancellation?.isCancelled ?? false }

    /// Records that `forwarder` sends the query at `now`.
    func begin(at forwarder: Forwarder, _ now: Instant, usesEDNS: Bool) {
        self.forwarder = forwarder
        (sent, self.usesEDNS) = (now, usesEDNS)
    }

    /// Prepares the repetition without EDNS.
    func dropEDNS() {
        (usesEDNS, hasRejectedEDNS, earlier) = (false, true, nil)
    }

    /// Records the socket that waits for the reply, so that the query can be cancelled.
    func wasSent(by carrier: any AttemptCarrier) {
        self.carrier = carrier
        cancellation?.whenCancelled { [self] in self.carrier?.cancel(self) }
    }

    /// Ends the attempt because its server was withdrawn.
    func withdraw() {
        carrier?.cancel(self)
        complete(.failure(.withdrawn))
    }

    /// Takes the result of the transport, which calls this once for each time it carried the query.
    package func end(_ outcome: consuming Outcome) {
        if let forwarder {
            forwarder.received(outcome, to: self)
        } else {
            complete(outcome)
        }
    }

    /// Completes the attempt.
    func complete(_ outcome: consuming Outcome) {
        (forwarder, carrier) = (nil, nil)
        guard let completion = completion.take() else { return }
        self.outcome = outcome
        completion(self)
    }
}
