// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Size, TTL limits, stale answers, prefetch and snapshot.
package struct CacheSettings: Sendable, Equatable {
    /// In octets.
    package var size = 64 << 20

    /// Limit for positive answers.
    package var minimumTTL = Duration.zero

    /// Limit for positive answers.
    package var maximumTTL = Duration.seconds(86_400)

    package var negativeTTL = NegativeTTL()

    package var snapshot = SnapshotSetting.automatic

    /// Nil: off.
    package var stale: Stale? = Stale()

    /// Nil: off.
    package var prefetch: Prefetch? = Prefetch()

    /// Lifetime of negative answers (RFC 2308 §5).
    package struct NegativeTTL: Sendable, Equatable {
        package var minimum = Duration.seconds(5)
        package var maximum = Duration.seconds(300)

        package init() {}
    }

    /// Serve-stale settings (RFC 8767).
    package struct Stale: Sendable, Equatable {
        /// Time after expiry during which an answer may be served.
        package var window = Duration.seconds(86_400)

        /// Waiting time of a client.
        package var after = Duration.milliseconds(300)

        package var ttl = Duration.seconds(30)

        package init() {}
    }

    package struct Prefetch: Sendable, Equatable {
        /// Percentage of the TTL.
        package var at = 75

        /// Vendor lookups per minute.
        package var budgetPerMinute = 60

        /// Resolved at startup and always refreshed.
        package var names: [Name] = []

        package init() {}
    }

    package init() {}
}

// MARK: - Table

extension CacheSettings {
    static let table = SettingsTable<CacheSettings>(
        .option(
            "size",
            \.size,
            .size(SettingsLimits.cacheSize),
            """
            Memory limit of the cache. When the cache is full, answers that were not queried \
            recently are evicted. 64MiB holds about 500,000 answers. A change takes effect after a \
            restart.
            """
        ),
        .option(
            "minimum-ttl",
            \.minimumTTL,
            .duration(SettingsLimits.ttl),
            """
            Lower limit for TTLs: a smaller TTL is raised to this value. More than a few seconds \
            delays changes: clients keep using the old address of a name that has moved.
            """
        ),
        .option(
            "maximum-ttl",
            \.maximumTTL,
            .duration(SettingsLimits.ttl),
            """
            Upper limit for TTLs: a larger TTL is lowered to this value.
            """
        ),
        .section(
            "negative-ttl",
            \.negativeTTL,
            NegativeTTL.table,
            """
            Limits for the time that NXDOMAIN and NODATA answers are cached (RFC 2308).
            """
        ),
        .section(
            "stale",
            \.stale,
            Stale.table,
            fresh: Stale(),
            isOn: true,
            """
            Stale answers (RFC 8767): if no fresh answer arrives within `after`, the client gets \
            the expired one. The resolution continues, and the next client gets its result. A \
            client that uses EDNS is informed by an extended DNS error (RFC 8914: 3 or 19).
            """
        ),
        .section(
            "prefetch",
            \.prefetch,
            Prefetch.table,
            fresh: Prefetch(),
            isOn: true,
            """
            Refresh of answers before they expire, so that no client waits. A query that arrives \
            after the time set by `at` triggers one refresh, if the TTL of the answer is at least \
            10 s. With a vendor, each refresh is a billable call: a name costs at most one call \
            per `at` of its TTL, and one call even if no other query follows. No refresh is sent \
            to a vendor that is paused, backing off, rate-limited or over its budget.
            """
        ),
        .option(
            "snapshot",
            \.snapshot,
            .snapshot,
            """
            File that preserves the cache across restarts and power failures. It is read at \
            startup, and written every 5 minutes and at shutdown. While the file is being read, \
            queries are already answered, also from the file. Answers that have expired in the \
            meantime become stale answers. `auto` means cache.snapshot in the directory that \
            systemd creates for StateDirectory= of the unit; without such a directory there is no \
            snapshot.
            """
        )
    )
}

extension CacheSettings.NegativeTTL {
    static let table = SettingsTable<CacheSettings.NegativeTTL>(
        .option(
            "minimum",
            \.minimum,
            .duration(SettingsLimits.negativeTTL),
            """
            Lower limit for the lifetime of a negative answer.
            """
        ),
        .option(
            "maximum",
            \.maximum,
            .duration(SettingsLimits.negativeTTL),
            """
            Upper limit for the lifetime of a negative answer.
            """
        )
    )
}

extension CacheSettings.Stale {
    static let table = SettingsTable<CacheSettings.Stale>(
        .option(
            "window",
            \.window,
            .duration(SettingsLimits.staleWindow),
            """
            Time after expiry during which an answer may still be served.
            """
        ),
        .option(
            "after",
            \.after,
            .duration(SettingsLimits.staleAfter),
            """
            Time that a client waits for a fresh answer before it gets the stale one. With 0, the \
            client gets the stale answer immediately, and the next client gets the fresh one.
            """
        ),
        .option(
            "ttl",
            \.ttl,
            .duration(SettingsLimits.staleTTL),
            """
            TTL of records in a stale answer.
            """
        )
    )
}

extension CacheSettings.Prefetch {
    static let table = SettingsTable<CacheSettings.Prefetch>(
        .option(
            "at",
            \.at,
            .percent(SettingsLimits.prefetchAt),
            """
            Percentage of the TTL after which a query triggers a refresh.
            """
        ),
        .option(
            "budget-per-minute",
            \.budgetPerMinute,
            .integer(SettingsLimits.prefetchBudget),
            """
            Maximum number of vendor lookups per minute that prefetch may start. Queries to \
            upstreams are free and are not counted.
            """
        ),
        .option(
            "names",
            \.names,
            .list("names", of: .domainName, count: SettingsLimits.prefetchNames),
            """
            Names to resolve at startup and to refresh always, even if no client queries them. \
            `budget-per-minute` applies to them, too.
            """
        )
    )
}
