// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One vendor's servers: which paths they serve, and what they make of a request.
protocol Vendor: Sendable {
    /// The paths it serves; any other path of any vendor is answered 404.
    var paths: Set<String> { get }

    /// Reads a request, without answering it yet, so that faults can depend on the names in it.
    func call(_ request: Request, at time: Date) -> Call
}

/// What a vendor read in a request.
struct Call: Sendable {
    /// Vendor and channel for the counters: `tencent-aes`, or `tencent-refused` if there is none.
    var channel: String

    /// The names asked for, in lower case, without the final dot.
    var names: [String] = []

    /// Whether it asks for addresses; false for service addresses and other housekeeping.
    var isLookup: Bool

    /// Makes the response from a zone, distorted or not.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
