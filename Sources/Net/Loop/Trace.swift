// SPDX-License-Identifier: Apache-2.0

/// Record of the attempts and decisions for one DNS question, without secrets.
@ServiceLoop
package final class Trace {
    /// Maximum number of attempts, and of notes; further attempts and notes are only counted.
    package static let limit = 64

    package enum Why: String, Sendable {
        case first

        case next

        case hedge

        case fresh

        case repair
    }

    package struct Attempt: Sendable {
        package let name: String
        package let server: String
        package let why: Why
        package let began: Instant

        package var request: String?

        package var transfer: Transfer?

        package var isReused: Bool?

        package var end: (at: Instant, result: String)?
    }

    package struct Transfer: Sendable {
        package let status: Int
        package let times: TransferTimes?
    }

    @ServiceLoop
    package struct Place {
        fileprivate let trace: Trace
        fileprivate let index: Int

        package func update(_ change: (inout Attempt) -> Void) { change(&trace.attempts[index]) }

        package func note(_ reply: HTTPReply) {
            update {
                $0.transfer = Transfer(status: reply.status, times: reply.times)
                $0.isReused = reply.connectionReused
            }
        }

        package func end(_ result: String, at instant: Instant) {
            update { $0.end = (instant, result) }
        }
    }

    package private(set) var attempts: [Attempt] = []

    package private(set) var notes: [String] = []

    package private(set) var leftOut = 0

    package init() {}

    package func begin(
        _ name: String,
        _ server: String,
        _ why: Why,
        now: Instant
    ) -> Place? {
        guard attempts.count < Self.limit else {
            leftOut += 1
            return nil
        }
        attempts.append(Attempt(name: name, server: server, why: why, began: now))
        return Place(trace: self, index: attempts.count - 1)
    }

    package func note(_ text: @autoclosure () -> String) {
        if notes.count < Self.limit { notes.append(text()) } else { leftOut += 1 }
    }
}
