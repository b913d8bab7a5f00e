// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
internal import Net

/// The secrets of the cookies of this process, which is where they are made and where they end.
///
/// A restart forgets them, and all clients get new cookies with their next answers.  Nothing is
/// refused for want of a cookie (RFC 7873 §5.2.3 lets a server choose), so nobody notices.
final class CookieJar: Sendable {
    private let state: Lock<State>

    /// The secrets, and when the current one has made cookies for long enough.
    private struct State {
        var secrets: CookieSecrets
        var renewal: ContinuousClock.Instant
    }

    /// A jar with a secret from the system's random numbers.
    init(now: ContinuousClock.Instant) {
        state = Lock(
            State(
                secrets: CookieSecrets(Self.secret()),
                renewal: now + CookieLimits.secretLifetime
            )
        )
    }

    /// The secrets at `now`, the current one renewed if it has made cookies for long enough.
    private func secrets(now: ContinuousClock.Instant) -> CookieSecrets {
        state.withLock { state in
            if now >= state.renewal {
                state.secrets.renew(with: Self.secret())
                state.renewal = now + CookieLimits.secretLifetime
            }
            return state.secrets
        }
    }

    /// What cookies are made and checked with `now`; from any thread.
    func terms(now: ContinuousClock.Instant, wallSeconds: Int64) -> CookieTerms {
        CookieTerms(secrets: secrets(now: now), time: UInt32(truncatingIfNeeded: wallSeconds))
    }

    private static func secret() -> CookieSecret {
        var random = SystemRandomNumberGenerator()
        return CookieSecret(using: &random)
    }
}
