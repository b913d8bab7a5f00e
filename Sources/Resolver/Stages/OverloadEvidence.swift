// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Evidence that an overloaded upstream drops queries: the part of answers that needed repetitions.
///
/// An unanswered query is no evidence, because clients choose names, and the authoritative servers
/// of the name may be silent.
struct OverloadEvidence {
    /// Part of the answers that needed repetitions, as a moving average, in 1/1024.
    private var repeated = 0

    /// The two clients with the most recent answers to repetitions.
    private var latest: (client: ClientNetwork, at: Instant)?
    private var previous: (client: ClientNetwork, at: Instant)?

    /// Time for which an answer to a repetition counts as evidence.
    private static var lifetime: Duration { .seconds(10) }

    /// Counts a result.
    ///
    /// - Parameter isRepeated: false if the client's queries are sent only once; then the result is
    ///   ignored.
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

    /// Returns true if more than 1/8 of the answers needed repetitions.
    ///
    /// Another client must also have had an answer to a repetition, within `lifetime`.
    func concerns(_ client: ClientNetwork, now: Instant) -> Bool {
        let rival = latest?.client == client ? previous : latest
        guard let rival, now - rival.at < Self.lifetime else { return false }
        return repeated > 1_024 / 8
    }
}
