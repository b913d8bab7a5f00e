// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Synchronization

final class LogThreshold: Sendable {
    private let rank: Atomic<Int>
    init(_ level: Logger.Level) { rank = Atomic(Self.rank(of: level)) }

    var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(Self.rank(of: newValue), ordering: .relaxed) }
    }

    private static func rank(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
