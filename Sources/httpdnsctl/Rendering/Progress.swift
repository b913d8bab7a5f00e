// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A line on the terminal about what takes more than a second; nothing anywhere else.
struct Progress {
    /// How long there is nothing to show, and how often it is renewed.
    private static let patience = Duration.seconds(1)
    private static let interval = Duration.milliseconds(100)

    /// Whether standard error is a terminal, and standard output is none: else results would do.
    private let isWanted = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) != 1

    private let start = ContinuousClock.now
    private var shownAt: ContinuousClock.Instant?

    /// Shows how far it is.
    mutating func show(_ text: @autoclosure () -> String) {
        guard isWanted else { return }
        let now = ContinuousClock.now
        guard now - start >= Self.patience, shownAt.map({ now - $0 >= Self.interval }) ?? true
        else { return }
        shownAt = now
        Output.progress(text())
    }

    /// Removes what was shown.
    mutating func clear() {
        guard shownAt != nil else { return }
        shownAt = nil
        Output.progress("")
    }
}
