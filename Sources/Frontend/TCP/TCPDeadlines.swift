// SPDX-License-Identifier: Apache-2.0
internal import Net

struct TCPDeadlines {
    var message: Instant?

    var writing: Instant?

    /// Returns the next deadline; `idleUntil` is nil while a query or a reply is pending.
    func due(
        isReading: Bool,
        idleUntil: Instant?
    ) -> Instant? {
        isReading ? Self.earlier(message ?? idleUntil, writing) : writing
    }

    static func earlier(
        _ first: Instant?,
        _ second: Instant?
    ) -> Instant? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }
}
