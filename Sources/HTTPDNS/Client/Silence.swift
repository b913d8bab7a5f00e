// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of a vendor from which no reply comes at all.
///
/// A vendor none of whose servers answers costs each new name its whole time, seconds, before the next
/// source is asked.  So after as many silent tries in a row as would have moved on from every server,
/// no client that has a choice waits for the vendor.  A try counts only if nothing was heard since
/// it began, and only once a trial that began after it has heard nothing either: names that a client
/// chose cannot do it alone.  Any reply closes the breaker.
struct Silence: Sendable, Hashable {
    /// Silent tries in a row that open the breaker, at least 1.
    let limit: Int

    /// Silent tries of clients since the last reply that no trial has confirmed.
    private var suspicions = 0

    /// Attempts for clients that timed out since the vendor last replied.
    private var tries = 0

    /// When the latest trial began that heard nothing; nil if something was heard since.
    private var trialBegan: ContinuousClock.Instant?

    /// When the latest reply came; nil before the first.
    private var heardAt: ContinuousClock.Instant?

    /// Makes a closed breaker.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the breaker is open.
    var isSilent: Bool { tries >= limit }

    /// Whether any reply came after `start`.
    func hasHeard(since start: ContinuousClock.Instant) -> Bool {
        heardAt.map { $0 > start } ?? false
    }
}

// MARK: - Events

extension Silence {
    /// A client's try that began at `start` has had a fair time and got no reply.
    mutating func lasted(since start: ContinuousClock.Instant) {
        guard !hasHeard(since: start) else { return }
        if let trialBegan, start <= trialBegan { tries += 1 } else { suspicions += 1 }
    }

    /// A trial that began at `start` has got no reply from any server.
    mutating func confirmed(since start: ContinuousClock.Instant) {
        guard !hasHeard(since: start) else { return }
        tries += suspicions
        suspicions = 0
        trialBegan = start
    }

    /// A reply came, whatever it says.
    mutating func heard(at now: ContinuousClock.Instant) {
        reset()
        heardAt = now
    }

    /// The network is another one, or the operator wants the vendor asked.
    mutating func reset() {
        self = Silence(limit: limit)
    }
}
