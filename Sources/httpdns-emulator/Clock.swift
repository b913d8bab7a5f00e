// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// Emulator's clock, with a configurable error.
final class Clock: Sendable {
    /// Seconds ahead of the system clock; negative if behind.
    private let offset: Lock<Int>

    /// Creates a clock with an offset in seconds.
    init(offset: Int) { self.offset = Lock(offset) }

    var now: Date { Date(timeIntervalSinceNow: TimeInterval(offset.withLock { $0 })) }

    func set(offset seconds: Int) { offset.withLock { $0 = seconds } }
}
