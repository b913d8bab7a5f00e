// SPDX-License-Identifier: Apache-2.0
@testable import Net

/// Deadline in 5 min, which even a busy machine does not reach.
var patience: Instant { Clock.now + .seconds(300) }

extension HTTPReply {
    var text: String { String(decoding: body, as: UTF8.self) }
}
