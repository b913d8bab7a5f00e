// SPDX-License-Identifier: Apache-2.0

/// What became of a reload, or would become of it.
struct ReloadOutcome: Sendable {
    /// Whether the settings of the file are in force; only so as far as they need no restart.
    var isApplied = false

    /// Why they are not.
    var problems: [SettingsProblem] = []

    /// What is merely odd in the file.
    var warnings: [SettingsProblem] = []

    /// In what the file differs from what was in force: the first `listedChanges`.
    var changes: [SettingsChange] = []

    /// How many changes there are beyond those.
    var unlistedChanges = 0

    /// Changes that are listed at most: a longer reply would hold up the loop.
    static let listedChanges = 1_000

    /// The options among them that are read when the daemon starts, and only then.
    var needsRestart: [String] = []

    /// Whether secrets are credentials, which systemd copies when it starts the service.
    var usesCredentials = false

    /// Answers that were removed from the cache, as they are not right any more.
    var removedAnswers = 0
}

extension ReloadOutcome {
    /// What the operator should know besides, in sentences; at most one per reload.
    var notes: [String] {
        guard usesCredentials, !changes.contains(where: { $0.kind == .secret }) else { return [] }
        return [
            "credentials are those of the start: systemd copies them only then; "
                + "after changing one, run `systemctl restart httpdnsd`"
        ]
    }
}

extension Settings {
    /// Whether a secret is a credential of systemd (`{credential: NAME}`).
    var usesCredentials: Bool {
        vendors.contains { vendor in
            vendor.account.any.secrets.contains { entry in
                if case .credential = entry.secret?.source { true } else { false }
            }
        }
    }
}
