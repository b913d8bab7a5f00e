// SPDX-License-Identifier: Apache-2.0

/// Result of a reload or of its check.
struct ReloadOutcome: Sendable {
    /// True if the settings are in force, except those that need a restart.
    var isApplied = false

    var problems: [SettingsProblem] = []

    var warnings: [SettingsProblem] = []

    /// First `listedChanges` differences from the previous settings.
    var changes: [SettingsChange] = []

    var unlistedChanges = 0

    /// Maximum number of listed changes; a longer reply would block the service loop.
    static let listedChanges = 1_000

    /// Changed options that are read only at the start.
    var needsRestart: [String] = []

    /// True if a secret is a systemd credential, which is copied only when the service starts.
    var usesCredentials = false

    var removedAnswers = 0
}

extension ReloadOutcome {
    /// Notes for the operator; at most one.
    var notes: [String] {
        guard usesCredentials, !changes.contains(where: { $0.kind == .secret }) else { return [] }
        return [
            "credentials were not reloaded: systemd copies them when the service starts; "
                + "after changing one, run `systemctl restart httpdnsd`"
        ]
    }
}

extension Settings {
    var usesCredentials: Bool {
        vendors.contains { vendor in
            vendor.account.any.secrets.contains { entry in
                if case .credential = entry.secret?.source { true } else { false }
            }
        }
    }
}
