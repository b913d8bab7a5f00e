// SPDX-License-Identifier: Apache-2.0
package import Logging

package struct ControlSettings: Sendable, Equatable {
    package var socket = "/run/httpdnsd/control.sock"
    package var mode = 0o660
    package var group = "httpdns"
}

package enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

package struct LogSettings: Sendable, Equatable {
    package var level = Logger.Level.info

    package var format = LogFormat.text

    package var queries = false
}

// MARK: - Tables

extension ControlSettings {
    static let table = SettingsTable<ControlSettings>(
        .option("socket", \.socket, .path(maximumOctets: SettingsLimits.socketPathOctets)) {
            """
            Path of the socket. If you change the path, `httpdnsctl` needs `--socket PATH`, also \
            in `ExecReload=` of the systemd unit.
            """
        },
        .option("mode", \.mode, .mode) {
            """
            Permissions of the socket. A user with write permission can reload the settings, flush \
            the cache and pause vendors. With "0666", all users have write permission, but the \
            daemon restricts them: only root, the user of the daemon and users with `group` as \
            their primary group can make changes, see the settings, or list the names that clients \
            queried. All other users can see if a certain name is in the cache, and see the URLs \
            of the upstreams; the path of a URL can be an access token.
            """
        },
        .option("group", \.group, .group) {
            """
            Group that owns the socket. If the group does not exist, the socket keeps the group of \
            the process, with a warning.
            """
        }
    )
}

extension LogSettings {
    static let table = SettingsTable<LogSettings>(
        .option("level", \.level, .choice()) { "Minimum level of messages." },
        .option("format", \.format, .choice()) {
            """
            Format of lines on standard error: text, or one JSON object per line. The journal gets \
            entries with fields, and ignores this option.
            """
        },
        .option("queries", \.queries, .boolean) {
            """
            Logs every query with the client's address. Consider the privacy of your users. Above \
            about 8,000 queries per second, further queries are counted instead of logged.
            """
        }
    )
}
