// SPDX-License-Identifier: Apache-2.0

/// What the vendor client allows itself, where no setting says otherwise.
package enum ClientLimits {
    /// The first pause of a server that says 429 without `Retry-After`; doubles with each further.
    static let firstPause = Duration.seconds(1)

    /// The longest such pause that we choose; a `Retry-After` may be longer.
    static let longestPause = Duration.seconds(60)

    /// How long a vendor that refuses the account is left alone before one trial call.
    static let refusalPause = Duration.seconds(300)

    /// The time from the beginning of a trial that was answered, or that followed others in vain, to
    /// the next one.
    static let trialPause = Duration.seconds(1)

    /// Seconds between two clocks that are no reason to sign again: `Date` has no fractions.
    static let tolerableSkew: Int64 = 2

    /// Seconds between two clocks that are repaired at most over TLS: a wrong time zone, not more.
    static let longestSkew: Int64 = 86_400

    /// The same without TLS, where a stranger on the way can write the vendor's time.
    static let longestUnprotectedSkew: Int64 = 600

    /// The time after which a repaired clock is tried without the repair.
    static let skewRetest = Duration.seconds(600)

    /// Look-ups that wait for a place among the calls in flight; more fail at once.
    static let queuedNames = 4_096

    /// Requests that run on after their call was answered; more are given up.
    static let lingeringTries = 64

    /// Names whose calls are counted apart.
    static let countedNames = 1_024

    /// The shortest time between two requests for the service's addresses.
    static let refreshPause = Duration.seconds(60)

    /// The longest time between them when they fail.
    static let longestRefreshPause = Duration.seconds(3_600)

    /// How long addresses are used of which the vendor does not say it.
    package static let addressLifetime = Duration.seconds(12 * 3_600)
}
