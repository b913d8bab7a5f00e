// SPDX-License-Identifier: Apache-2.0
@testable import Net

/// Far enough away for a machine that is busy with something else.
var patience: ContinuousClock.Instant { Clock.now + .seconds(30) }

/// Limits for tests: nothing depends on how fast a handshake is.
var patientLimits: HTTPClient.Limits {
    var limits = HTTPClient.Limits()
    limits.connectTime = .seconds(30)
    return limits
}

extension HTTPReply {
    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }
}
