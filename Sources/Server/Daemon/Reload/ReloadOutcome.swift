// SPDX-License-Identifier: Apache-2.0

/// What became of a reload, or would become of it.
struct ReloadOutcome: Sendable {
    /// Whether the settings of the file are in force; only so as far as they need no restart.
    var isApplied = false

    /// Why they are not.
    var problems: [SettingsProblem] = []

    /// What is merely odd in the file.
    var warnings: [SettingsProblem] = []

    /// In what the file differs from what was in force.
    var changes: [SettingsChange] = []

    /// The options among them that are read when the daemon starts, and only then.
    var needsRestart: [String] = []

    /// Answers that were removed from the cache, as they are not right any more.
    var removedAnswers = 0
}
