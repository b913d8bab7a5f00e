// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Synchronization

/// The least important level that is logged, the same for all copies of a handler.
final class LogThreshold: Sendable {
    /// The level by its place in `Logger.Level.allCases`.
    private let rank: Atomic<Int>

    /// A threshold that lets messages of at least `level` pass.
    init(_ level: Logger.Level) { rank = Atomic(Self.rank(of: level)) }

    /// The level; from any thread.
    var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(Self.rank(of: newValue), ordering: .relaxed) }
    }

    private static func rank(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
