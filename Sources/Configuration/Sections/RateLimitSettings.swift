// SPDX-License-Identifier: Apache-2.0

/// Limit on the UDP responses to DNS clients on other machines.
package struct RateLimitSettings: Sendable, Equatable {
    /// Limit for each IPv4 address or IPv6 /64 prefix of clients.
    package var queriesPerSecond = 1000
}

extension RateLimitSettings {
    static let table = SettingsTable<RateLimitSettings>(
        .option(
            "queries-per-second",
            \.queriesPerSecond,
            .integer(SettingsLimits.queriesPerSecond)
        ) {
            """
            UDP queries per second that are answered for each IPv4 address or IPv6 /64. The daemon \
            answers one half of the queries above this rate with a truncated response (TC), so \
            that the client retries over TCP. The daemon drops the other half. Raise the limit if \
            many clients share one address.
            """
        }
    )
}
