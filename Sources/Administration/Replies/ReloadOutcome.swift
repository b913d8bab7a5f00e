// SPDX-License-Identifier: Apache-2.0
package import Configuration

package struct ReloadOutcome: Sendable {
    /// True if the settings are in force, except options that need a restart.
    package var isApplied = false

    package var problems: [SettingsProblem] = []
    package var warnings: [SettingsProblem] = []
    package var changes: [SettingsChange] = []
    package var unlistedChanges = 0

    /// Maximum number of listed differences; a longer reply would block the service loop.
    package static let listedChanges = 1_000

    /// Changed options that are read only at the start.
    package var needsRestart: [String] = []

    /// True if a secret is a credential, which systemd copies only when the service starts.
    package var usesCredentials = false

    package var removedAnswers = 0

    package init(
        problems: [SettingsProblem] = [],
        warnings: [SettingsProblem] = [],
        changes: [SettingsChange] = [],
        unlistedChanges: Int = 0,
        needsRestart: [String] = [],
        usesCredentials: Bool = false
    ) {
        self.problems = problems
        self.warnings = warnings
        self.changes = changes
        self.unlistedChanges = unlistedChanges
        self.needsRestart = needsRestart
        self.usesCredentials = usesCredentials
    }
}

extension ReloadOutcome {
    package var notes: [String] {
        guard usesCredentials, !changes.contains(where: { $0.kind == .secret }) else { return [] }
        return [
            "credentials were not reloaded: systemd copies them when the service starts; "
                + "if you changed a credential, run `systemctl restart httpdnsd`"
        ]
    }
}
