// SPDX-License-Identifier: Apache-2.0

/// What was done about one question: what was sent, what came back, what was decided in between.
///
/// Handed down with a question whose asker wants to know; nearly always there is none, which costs
/// no more than seeing that.  It holds no secret: whoever writes it leaves them out.
@ServiceLoop
package final class Trace {
    /// Attempts, and notes, that are kept; more are counted.
    package static let limit = 64

    /// Why something was sent.
    package enum Why: String, Sendable {
        case first

        /// The one before has failed.
        case next

        /// The one before is silent for long.
        case hedge

        /// A new connection may do better than an old one.
        case fresh

        /// Whoever was asked wants it signed or written otherwise.
        case repair
    }

    /// A request to a vendor, or a query to an upstream.
    package struct Attempt: Sendable {
        /// The vendor or upstream, and its server.
        package let name: String
        package let server: String
        package let why: Why
        package let began: ContinuousClock.Instant

        /// What was sent, without secrets; nil if there is nothing to say.
        package var request: String?

        /// What came back, if it came over HTTP.
        package var transfer: Transfer?

        /// Whether an open connection carried it; nil if that is not known.
        package var isReused: Bool?

        /// How it ended; nil while it is under way.
        package var end: (at: ContinuousClock.Instant, result: String)?
    }

    /// A reply of HTTP.
    package struct Transfer: Sendable {
        package let status: Int
        package let times: TransferTimes?
    }

    /// One attempt, for those who come to know more of it.
    @ServiceLoop
    package struct Place {
        fileprivate let trace: Trace
        fileprivate let index: Int

        /// Adds what has come to be known.
        package func update(_ change: (inout Attempt) -> Void) { change(&trace.attempts[index]) }

        /// Adds what a reply of HTTP tells.
        package func note(_ reply: HTTPReply) {
            update {
                $0.transfer = Transfer(status: reply.status, times: reply.times)
                $0.isReused = reply.connectionReused
            }
        }

        /// Notes that it has ended, and how.
        package func end(_ result: String, at instant: ContinuousClock.Instant) {
            update { $0.end = (instant, result) }
        }
    }

    /// The attempts, in the order in which they began.
    package private(set) var attempts: [Attempt] = []

    /// What was decided, for people.
    package private(set) var notes: [String] = []

    /// Attempts and notes that are not kept.
    package private(set) var leftOut = 0

    package init() {}

    /// Notes that something is sent.
    package func begin(
        _ name: String,
        _ server: String,
        _ why: Why,
        now: ContinuousClock.Instant
    ) -> Place? {
        guard attempts.count < Self.limit else {
            leftOut += 1
            return nil
        }
        attempts.append(Attempt(name: name, server: server, why: why, began: now))
        return Place(trace: self, index: attempts.count - 1)
    }

    /// Notes a decision.
    package func note(_ text: @autoclosure () -> String) {
        if notes.count < Self.limit { notes.append(text()) } else { leftOut += 1 }
    }
}
