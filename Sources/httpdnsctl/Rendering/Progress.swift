// SPDX-License-Identifier: Apache-2.0
import Glibc

struct Progress {
    private static let patience = Duration.seconds(1)
    private static let interval = Duration.milliseconds(100)
    private let isWanted = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) != 1
    private let start = ContinuousClock.now
    private var shownAt: ContinuousClock.Instant?

    mutating func show(_ text: @autoclosure () -> String) {
        guard isWanted else { return }
        let now = ContinuousClock.now
        guard now - start >= Self.patience, shownAt.map({ now - $0 >= Self.interval }) ?? true
        else { return }
        shownAt = now
        Output.progress(text())
    }

    mutating func clear() {
        guard shownAt != nil else { return }
        shownAt = nil
        Output.progress("")
    }
}
