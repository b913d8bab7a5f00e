// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Evidence that an upstream drops queries because it is overloaded: answers to repetitions.
///
/// An unanswered query is no evidence: the servers of its name may be silent, and clients choose
/// names.
struct OverloadEvidence {
    /// Part of the answers that were answers to repetitions, as a moving average, in 1/1024.
    private var repeated = 0

    /// The two clients with the most recent answers to repetitions.
    private var latest: (client: ClientNetwork, at: Instant)?
    private var previous: (client: ClientNetwork, at: Instant)?

    /// Validity of an answer to a repetition.
    private static var lifetime: Duration { .seconds(10) }

    /// Counts a result.
    ///
    /// - Parameter isRepeated: false if queries of the client are sent only once, so that they show
    ///   nothing.
    mutating func note(
        _ result: LossWindow.Result,
        of client: ClientNetwork,
        isRepeated: Bool,
        now: Instant
    ) {
        guard isRepeated, result != .lost else { return }
        repeated += ((result == .repeated ? 1_024 : 0) - repeated) >> 4
        guard result == .repeated else { return }
        if let latest, latest.client != client { previous = latest }
        latest = (client, now)
    }

    /// Returns true if more than an eighth of the answers needed repetitions, recently also those
    /// of another client.
    func concerns(_ client: ClientNetwork, now: Instant) -> Bool {
        let rival = latest?.client == client ? previous : latest
        guard let rival, now - rival.at < Self.lifetime else { return false }
        return repeated > 1_024 / 8
    }
}
