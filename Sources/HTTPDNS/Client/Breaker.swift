// SPDX-License-Identifier: Apache-2.0

/// Keeps calls away from one server that said it has had too many (429).
///
/// Closed, it lets everything pass.  A 429 opens it for `Retry-After`, or for a second that doubles
/// with each further one up to a minute.  When that is over, one trial passes at a time: an answer
/// closes the breaker, a 429 opens it for longer.  Attempts have rising numbers, so that what was
/// under way when it opened neither opens it further nor closes it.
struct Breaker: Sendable, Hashable {
    /// What an open breaker knows; nil while it is closed.
    struct Pause: Sendable, Hashable {
        /// When a trial may pass.
        var until: ContinuousClock.Instant

        /// How long the next pause is if the server does not say.
        var next: Duration

        /// The number of the last attempt that began before it opened.
        var openedAfter: UInt64

        /// The number of the trial under way.
        var trial: UInt64?
    }

    /// The present pause.
    private(set) var pause: Pause?

    /// Until when nothing passes; in the past when a trial may; nil while it is closed.
    var openUntil: ContinuousClock.Instant? { pause?.until }

    /// Whether an attempt that began now would pass.
    func admits(at now: ContinuousClock.Instant) -> Bool {
        guard let pause else { return true }
        return pause.trial == nil && now >= pause.until
    }
}

// MARK: - Events

extension Breaker {
    /// The attempt `number`, which was admitted, begins.
    mutating func began(_ number: UInt64) {
        pause?.trial = number
    }

    /// The server said 429 to the attempt `number`.
    ///
    /// - Parameter last: the highest number of all attempts so far.
    mutating func limited(
        _ number: UInt64,
        retryAfter: Duration?,
        last: UInt64,
        now: ContinuousClock.Instant
    ) {
        guard var pause else {
            let length = retryAfter ?? ClientLimits.firstPause
            self.pause = Pause(
                until: now + length,
                next: ClientLimits.firstPause * 2,
                openedAfter: last
            )
            return
        }
        guard number > pause.openedAfter else {
            // One of those that were refused together; only a later `Retry-After` is news.
            if let retryAfter { self.pause?.until = max(pause.until, now + retryAfter) }
            return
        }
        pause.until = now + (retryAfter ?? pause.next)
        pause.next = min(pause.next * 2, ClientLimits.longestPause)
        pause.openedAfter = last
        pause.trial = nil
        self.pause = pause
    }

    /// The server answered the attempt `number`.
    mutating func answered(_ number: UInt64) {
        guard let pause, number > pause.openedAfter else { return }
        self.pause = nil
    }

    /// The attempt `number` ended without saying anything about the limit.
    mutating func ended(_ number: UInt64) {
        if pause?.trial == number { pause?.trial = nil }
    }

    /// The network is another one: whoever counted our calls may not know us any more.
    mutating func reset() {
        pause = nil
    }
}
