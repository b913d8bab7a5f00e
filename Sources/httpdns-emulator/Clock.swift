// SPDX-License-Identifier: Apache-2.0
import Foundation
import Locks

/// System clock plus `offset` seconds.
final class Clock: Sendable {
    private let offset: Lock<Int>
    init(offset: Int) { self.offset = Lock(offset) }
    var now: Date { Date(timeIntervalSinceNow: TimeInterval(offset.withLock { $0 })) }
    func set(offset seconds: Int) { offset.withLock { $0 = seconds } }
}
