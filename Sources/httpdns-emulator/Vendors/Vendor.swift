// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Emulated vendor: matches and parses requests.
protocol Vendor: Sendable {
    /// Returns true if the request is for this vendor; a request for no vendor gets status 404.
    func serves(_ request: Request) -> Bool

    /// Parses a request without answering it, so that faults can depend on its names.
    func call(_ request: Request, at time: Date) -> Call

    /// Returns the error for any code, in the vendor's form.
    func failure(_ code: String) -> Response
}

/// Parsed request.
struct Call: Sendable {
    /// Vendor and channel for the counters: `tencent-aes`, or `tencent-refused` if refused.
    var channel: String

    /// Requested names in lower case, without the final dot.
    var names: [String] = []

    /// True for a request of addresses; false for service addresses.
    var isLookup: Bool

    /// Returns the response from a zone, with faults applied.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
