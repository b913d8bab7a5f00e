// SPDX-License-Identifier: Apache-2.0

/// Deadlines of a TCP client.
struct TCPDeadlines {
    /// For the rest of a message that has begun, however slowly its octets arrive.
    var message: ContinuousClock.Instant?

    /// For the client to accept the replies.
    var writing: ContinuousClock.Instant?

    /// The next deadline; `idleUntil` is nil if a query or a reply is pending.
    func due(
        isReading: Bool,
        idleUntil: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        isReading ? Self.earlier(message ?? idleUntil, writing) : writing
    }

    static func earlier(
        _ first: ContinuousClock.Instant?,
        _ second: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }
}
