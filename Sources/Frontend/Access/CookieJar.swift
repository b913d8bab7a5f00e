// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
package import Net

/// Cookie secrets of this process, with periodic renewal.
package final class CookieJar: Sendable {
    private let state: Lock<State>

    private struct State {
        var secrets: CookieSecrets
        var renewal: Instant
    }

    package init(now: Instant) {
        state = Lock(
            State(
                secrets: CookieSecrets(Self.secret()),
                renewal: now + CookieLimits.secretLifetime
            )
        )
    }

    private func secrets(now: Instant) -> CookieSecrets {
        state.withLock { state in
            if now >= state.renewal {
                state.secrets.renew(with: Self.secret())
                state.renewal = now + CookieLimits.secretLifetime
            }
            return state.secrets
        }
    }

    func terms(now: Instant, wallSeconds: Int64) -> CookieTerms {
        CookieTerms(secrets: secrets(now: now), time: UInt32(truncatingIfNeeded: wallSeconds))
    }

    private static func secret() -> CookieSecret {
        var random = SystemRandomNumberGenerator()
        return CookieSecret(using: &random)
    }
}
