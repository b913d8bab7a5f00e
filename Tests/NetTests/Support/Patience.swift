// SPDX-License-Identifier: Apache-2.0
@testable import Net

/// Far enough away for a machine that is busy with something else.
var patience: ContinuousClock.Instant { Clock.now + .seconds(30) }

extension HTTPReply {
    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
}
