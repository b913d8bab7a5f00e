// SPDX-License-Identifier: Apache-2.0

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

    /// Bounds of the time that negative answers are kept (RFC 2308 §5).
    package struct NegativeTTL: Sendable, Equatable {
        package var minimum = Duration.seconds(5)
        package var maximum = Duration.seconds(300)

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
        .notYet("stale", unless: "off", "false"),
        .notYet("prefetch"),
        .option(
            "snapshot",
            \.snapshot,
            .snapshot,
            """
            The file in which answers survive a restart or a loss of power: read at the start, \
            written every five minutes and at the end. Answers whose time has passed meanwhile are \
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
