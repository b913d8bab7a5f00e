// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of one server, opened by HTTP status 429, or by a refusal of the account.
///
/// The breaker stays open for the time of `Retry-After`. Without this header, the time is 1 s, and
/// doubles with each further 429, up to 60 s. Then one attempt is admitted. An attempt that began
/// before the breaker opened cannot close the breaker.
struct Breaker: Sendable, Hashable {
    struct Pause: Sendable, Hashable {
        var until: Instant

        var next: Duration

        var openedAfter: UInt64

        var trial: UInt64?
    }

    private(set) var pause: Pause?

    /// Possibly in the past; nil for a closed breaker.
    var openUntil: Instant? { pause?.until }

    func admits(at now: Instant) -> Bool {
        guard let pause else { return true }
        return pause.trial == nil && now >= pause.until
    }
}

// MARK: - Events

extension Breaker {
    mutating func began(_ number: UInt64) {
        pause?.trial = number
    }

    /// `last` is the highest attempt number so far.
    mutating func limited(
        _ number: UInt64,
        retryAfter: Duration?,
        last: UInt64,
        now: Instant
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
            if let retryAfter { self.pause?.until = max(pause.until, now + retryAfter) }
            return
        }
        pause.until = now + (retryAfter ?? pause.next)
        pause.next = min(pause.next * 2, ClientLimits.longestPause)
        pause.openedAfter = last
        pause.trial = nil
        self.pause = pause
    }

    mutating func answered(_ number: UInt64) {
        guard let pause, number > pause.openedAfter else { return }
        self.pause = nil
    }

    mutating func ended(_ number: UInt64) {
        if pause?.trial == number { pause?.trial = nil }
    }

    mutating func reset() {
        pause = nil
    }
}
