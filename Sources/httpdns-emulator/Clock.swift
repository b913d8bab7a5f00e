// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// The emulator's idea of the time, which may be wrong on purpose.
final class Clock: Sendable {
    /// Seconds ahead of the machine's clock; negative: behind.
    private let offset: Lock<Int>

    /// A clock that is off by this many seconds.
    init(offset: Int) { self.offset = Lock(offset) }

    /// What it shows.
    var now: Date { Date(timeIntervalSinceNow: TimeInterval(offset.withLock { $0 })) }

    /// Sets it off by this many seconds.
    func set(offset seconds: Int) { offset.withLock { $0 = seconds } }
}
