// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
internal import Net

/// Cookie secrets of this process, with periodic renewal.
///
/// Secrets are not saved.  After a restart, clients get new cookies with their next answers; a
/// query with an unknown cookie is answered, too (RFC 7873 §5.2.3 lets a server choose).
package final class CookieJar: Sendable {
    private let state: Lock<State>

    /// The secrets and the renewal time of the current one.
    private struct State {
        var secrets: CookieSecrets
        var renewal: ContinuousClock.Instant
    }

    package init(now: ContinuousClock.Instant) {
        state = Lock(
            State(
                secrets: CookieSecrets(Self.secret()),
                renewal: now + CookieLimits.secretLifetime
            )
        )
    }

    /// Returns the secrets, after renewing the current one if its lifetime is over.
    private func secrets(now: ContinuousClock.Instant) -> CookieSecrets {
        state.withLock { state in
            if now >= state.renewal {
                state.secrets.renew(with: Self.secret())
                state.renewal = now + CookieLimits.secretLifetime
            }
            return state.secrets
        }
    }

    /// Returns the secrets and the time for cookies; thread-safe.
    func terms(now: ContinuousClock.Instant, wallSeconds: Int64) -> CookieTerms {
        CookieTerms(secrets: secrets(now: now), time: UInt32(truncatingIfNeeded: wallSeconds))
    }

    private static func secret() -> CookieSecret {
        var random = SystemRandomNumberGenerator()
        return CookieSecret(using: &random)
    }
}
