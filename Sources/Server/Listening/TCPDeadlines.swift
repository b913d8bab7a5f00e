// SPDX-License-Identifier: Apache-2.0

/// Instants by which a TCP client must have done something; nil where it has nothing to do.
struct TCPDeadlines {
    /// The rest of a message that has begun must have come, however its octets trickle in.
    var message: ContinuousClock.Instant?

    /// Replies must have been accepted.
    var writing: ContinuousClock.Instant?

    /// The next deadline; nil if there is none.
    ///
    /// - Parameters:
    ///   - isReading: whether queries are still read.
    ///   - idleUntil: the end of the time for which a session without work is kept; nil if it has work.
    func due(
        isReading: Bool,
        idleUntil: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        isReading ? Self.earlier(message ?? idleUntil, writing) : writing
    }

    /// The earlier of two instants, as far as there are any.
    static func earlier(
        _ first: ContinuousClock.Instant?,
        _ second: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }
}
