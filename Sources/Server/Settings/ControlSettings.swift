// SPDX-License-Identifier: Apache-2.0
package import Logging

/// Where `httpdnsctl` finds the daemon, and who may use it.
package struct ControlSettings: Sendable, Equatable {
    /// The path of the Unix socket.
    package var socket = "/run/httpdnsd/control.sock"

    /// The permission bits of the socket.
    package var mode = 0o660

    /// The group that owns the socket.
    package var group = "httpdns"

    package init() {}
}

/// What is logged.
package struct LogSettings: Sendable, Equatable {
    /// The least important level that is logged.
    package var level = Logger.Level.info

    /// How lines look that are not the journal's.
    package var format = LogFormat.text

    /// Whether every query is logged.
    package var queries = false

    package init() {}
}

// MARK: - Tables

extension ControlSettings {
    static let table = SettingsTable<ControlSettings>(
        .option(
            "socket",
            \.socket,
            .path(maximumOctets: SettingsLimits.socketPathOctets),
            """
            The path of the Unix socket that httpdnsctl talks to.
            """
        ),
        .option(
            "mode",
            \.mode,
            .mode,
            """
            The permissions of that socket. Who can write to it can flush the cache and reload.
            """
        ),
        .option(
            "group",
            \.group,
            .group,
            """
            The group that owns it. If the system has no such group, it stays root's.
            """
        )
    )
}

extension LogSettings {
    static let table = SettingsTable<LogSettings>(
        .option(
            "level",
            \.level,
            .choice(),
            """
            The least important level that is logged.
            """
        ),
        .option(
            "format",
            \.format,
            .choice(),
            """
            How lines look on standard error: `json` is an object a line. The journal, where that is \
            what reads it, gets entries with fields instead.
            """
        ),
        .option(
            "queries",
            \.queries,
            .boolean,
            """
            Whether every query is logged, with its client: keep in mind whose names these are. Answers \
            do not wait for it: of more than some 8,000 a second the rest is only counted.
            """
        )
    )
}
