// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One vendor's servers: which requests are theirs, and what they make of them.
protocol Vendor: Sendable {
    /// Whether it is a request to this vendor; one that is to none is answered 404.
    func serves(_ request: Request) -> Bool

    /// Reads a request, without answering it yet, so that faults can depend on the names in it.
    func call(_ request: Request, at time: Date) -> Call

    /// The error of a code, written as the vendor writes errors; any code must give something.
    func failure(_ code: String) -> Response
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
