// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// How long answers are kept, and how many.
package struct CacheSettings: Sendable, Equatable {
    /// Memory for answers, in octets.
    package var size = 64 << 20

    /// Answers are kept at least so long, whatever their records say.
    package var minimumTTL = Duration.zero

    /// Answers are kept at most so long.
    package var maximumTTL = Duration.seconds(86_400)

    /// The same for answers that say there is nothing.
    package var negativeTTL = NegativeTTL()

    /// Where answers are kept while the daemon does not run.
    package var snapshot = SnapshotSetting.automatic

    /// Answers whose time is over; nil if they are never given.
    package var stale: Stale? = Stale()

    /// Answers asked for anew before their time is over; nil if none are.
    package var prefetch: Prefetch? = Prefetch()

    /// Bounds of the time that negative answers are kept (RFC 2308 §5).
    package struct NegativeTTL: Sendable, Equatable {
        package var minimum = Duration.seconds(5)
        package var maximum = Duration.seconds(300)

        package init() {}
    }

    /// How stale answers are given (RFC 8767).
    package struct Stale: Sendable, Equatable {
        /// How long after its time an answer may be given.
        package var window = Duration.seconds(86_400)

        /// How long a client waits for a better answer.
        package var after = Duration.milliseconds(300)

        /// The time to live that a stale answer is given with.
        package var ttl = Duration.seconds(30)

        package init() {}
    }

    /// Which answers are asked for anew, and how often that may cost a call.
    package struct Prefetch: Sendable, Equatable {
        /// The part of its time after which an answer in demand is asked for anew, in per cent.
        package var at = 75

        /// Calls to vendors in a minute.
        package var budgetPerMinute = 60

        /// Names whose addresses are kept always.
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
            Memory for answers. When it is used up, the answers nobody asked for lately make room.
            """
        ),
        .option(
            "minimum-ttl",
            \.minimumTTL,
            .duration(SettingsLimits.ttl),
            """
            Answers are kept at least so long, whatever the time to live of their records. More \
            than a few seconds breaks names that move.
            """
        ),
        .option(
            "maximum-ttl",
            \.maximumTTL,
            .duration(SettingsLimits.ttl),
            """
            Answers are kept at most so long.
            """
        ),
        .section(
            "negative-ttl",
            \.negativeTTL,
            NegativeTTL.table,
            """
            How long answers are kept that say there is no such name or no such record (RFC 2308).
            """
        ),
        .section(
            "stale",
            \.stale,
            Stale.table,
            fresh: Stale(),
            isOn: true,
            """
            Answers whose time is over, given when nobody has a better one soon enough (RFC 8767). \
            Asking goes on behind them, and what it brings is for the next one who asks. Clients \
            that understand it are told (RFC 8914: 3, 19).
            """
        ),
        .section(
            "prefetch",
            \.prefetch,
            Prefetch.table,
            fresh: Prefetch(),
            isOn: true,
            """
            Refreshing answers before they expire, so that no client waits for them: one query \
            that comes after the time of `at` has the answer refreshed, if it lives for 10 s at \
            least. With vendors each refresh is a call on the bill, so a name costs at most a call \
            for each `at` of its time, even one that is never asked for again. Nothing is asked of \
            a vendor that is paused, limited or beyond its budget.
            """
        ),
        .option(
            "snapshot",
            \.snapshot,
            .snapshot,
            """
            The file in which answers survive a restart or a loss of power: read at the start, \
            written every five minutes and at the end. Queries that come while it is read are \
            answered from it, too. Answers whose time has passed meanwhile are \
            kept as stale ones. `auto` is cache.snapshot in the directory that StateDirectory= of \
            a systemd unit makes, and none without one.
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
            At least so long.
            """
        ),
        .option(
            "maximum",
            \.maximum,
            .duration(SettingsLimits.negativeTTL),
            """
            At most so long.
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
            How long after its time an answer may be given.
            """
        ),
        .option(
            "after",
            \.after,
            .duration(SettingsLimits.staleAfter),
            """
            How long a client waits for a better answer. With 0 it gets the stale one at once, and \
            the next one who asks the new one.
            """
        ),
        .option(
            "ttl",
            \.ttl,
            .duration(SettingsLimits.staleTTL),
            """
            The time to live that a stale answer is given with.
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
            The part of its time after which a query has the answer refreshed.
            """
        ),
        .option(
            "budget-per-minute",
            \.budgetPerMinute,
            .integer(SettingsLimits.prefetchBudget),
            """
            How many look-ups of vendors may be begun for this in any minute. Upstreams cost \
            nothing and are not counted.
            """
        ),
        .option(
            "names",
            \.names,
            .list("names", of: .domainName, count: SettingsLimits.prefetchNames),
            """
            Names whose addresses are asked for at the start and kept from then on, whether anybody \
            asks for them or not, within the same budget.
            """
        )
    )
}
