// SPDX-License-Identifier: Apache-2.0

/// How often clients beyond this machine are answered over UDP.
package struct RateLimitSettings: Sendable, Equatable {
    /// Queries that are answered a second, of an IPv4 address or the 64 bits of an IPv6 network.
    package var queriesPerSecond = 1000

    package init() {}
}

extension RateLimitSettings {
    static let table = SettingsTable<RateLimitSettings>(
        .option(
            "queries-per-second",
            \.queriesPerSecond,
            .integer(SettingsLimits.queriesPerSecond),
            """
            Queries that are answered in a second, from each IPv4 address or /64 of IPv6. Of those \
            beyond them every second one is sent to TCP, where there is no limit, and the others get \
            no answer.
            """
        )
    )
}
