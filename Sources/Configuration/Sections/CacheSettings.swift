// SPDX-License-Identifier: Apache-2.0
package import DNSWire

package struct CacheSettings: Sendable, Equatable {
    /// Memory in octets that the daemon needs in addition to twice the size of the cache.
    static let otherMemory = 772 << 20

    /// Size in octets.
    package var size = 64 << 20

    package var minimumTTL = Duration.zero
    package var maximumTTL = Duration.seconds(86_400)
    package var negativeTTL = NegativeTTL()
    package var snapshot = SnapshotSetting.automatic
    package var stale: Stale? = Stale()
    package var prefetch: Prefetch? = Prefetch()

    /// Limits of the TTL of negative answers (RFC 2308 §5).
    package struct NegativeTTL: Sendable, Equatable {
        package var minimum = Duration.seconds(5)
        package var maximum = Duration.seconds(300)
    }

    /// Serve-stale settings (RFC 8767).
    package struct Stale: Sendable, Equatable {
        package var window = Duration.seconds(86_400)

        package var after = Duration.milliseconds(300)

        package var ttl = Duration.seconds(30)
    }

    package struct Prefetch: Sendable, Equatable {
        /// Percentage of the TTL after which an entry is refreshed.
        package var at = 75

        package var budgetPerMinute = 60
        package var names: [Name] = []
    }
}

// MARK: - Table

extension CacheSettings {
    static let table = SettingsTable<CacheSettings>(
        .option("size", \.size, .size(SettingsLimits.cacheSize)) {
            """
            Memory limit of the cache; answers that were not queried recently are evicted first. \
            64MiB holds about 500,000 answers. If you raise the limit, set MemoryMax= of the \
            systemd unit to twice this size plus 772 MiB (`systemctl edit httpdnsd`). The daemon, \
            and `httpdnsctl check`, warn of a lower MemoryMax=. A change requires a restart.
            """
        },
        .option("minimum-ttl", \.minimumTTL, .duration(SettingsLimits.ttl)) {
            """
            Lower limit for TTLs. A larger limit saves queries and calls, but clients get a \
            changed address later.
            """
        },
        .option("maximum-ttl", \.maximumTTL, .duration(SettingsLimits.ttl)) {
            "Upper limit for TTLs."
        },
        .section("negative-ttl", \.negativeTTL, NegativeTTL.table) {
            "Limits for the time that NXDOMAIN and NODATA answers are cached (RFC 2308)."
        },
        .section("stale", \.stale, Stale.table, fresh: Stale(), isOn: true) {
            """
            Stale answers (RFC 8767): if no fresh answer arrives within `after`, the client gets \
            the expired answer, with EDE 3 or 19 (RFC 8914). The resolution continues.
            """
        },
        .section("prefetch", \.prefetch, Prefetch.table, fresh: Prefetch(), isOn: true) {
            """
            Refresh of answers before they expire. The first query after the time in the option \
            `at` triggers the refresh, if the TTL of the answer is at least 10 s. A refresh by a \
            vendor is a billable call, even if no further query follows. No refresh is sent to a \
            vendor that is paused, rate-limited, over its budget or not responding.
            """
        },
        .option("snapshot", \.snapshot, .snapshot) {
            """
            File that preserves the cache across restarts and power failures. The daemon writes \
            the file every 5 minutes and at shutdown, and answers queries while it reads the file \
            at the start. `auto` means cache.snapshot in the directory of StateDirectory= of the \
            systemd unit; without this directory there is no snapshot.
            """
        }
    )
}

extension CacheSettings.NegativeTTL {
    static let table = SettingsTable<CacheSettings.NegativeTTL>(
        .option("minimum", \.minimum, .duration(SettingsLimits.negativeTTL)) { "Lower limit." },
        .option("maximum", \.maximum, .duration(SettingsLimits.negativeTTL)) { "Upper limit." }
    )
}

extension CacheSettings.Stale {
    static let table = SettingsTable<CacheSettings.Stale>(
        .option("window", \.window, .duration(SettingsLimits.staleWindow)) {
            "Time after expiry during which an answer may be served."
        },
        .option("after", \.after, .duration(SettingsLimits.staleAfter)) {
            "Time after which a waiting client gets the stale answer."
        },
        .option("ttl", \.ttl, .duration(SettingsLimits.staleTTL)) {
            "TTL of records in a stale answer."
        }
    )
}

extension CacheSettings.Prefetch {
    static let table = SettingsTable<CacheSettings.Prefetch>(
        .option("at", \.at, .percent(SettingsLimits.prefetchAt)) {
            "Percentage of the TTL after which a query triggers a refresh."
        },
        .option("budget-per-minute", \.budgetPerMinute, .integer(SettingsLimits.prefetchBudget)) {
            """
            Maximum number of vendor lookups per minute for prefetch. Queries to upstreams are not \
            counted.
            """
        },
        .option(
            "names",
            \.names,
            .list("names", of: .domainName, count: SettingsLimits.prefetchNames)
        ) {
            """
            Names to resolve at startup and to refresh even without queries, within \
            `budget-per-minute`.
            """
        }
    )
}
