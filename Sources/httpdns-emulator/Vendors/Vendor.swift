// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Emulated vendor: matches and parses requests.
protocol Vendor: Sendable {
    /// A request for no vendor gets status 404.
    func serves(_ request: Request) -> Bool

    /// Parses a request without answering, because faults depend on its names.
    func call(_ request: Request, at time: Date) -> Call

    /// Returns the error for any code, in the vendor's form.
    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    /// For the counters: `tencent-aes`, or `tencent-refused` if refused.
    var channel: String

    /// In lower case, without the final dot.
    var names: [String] = []

    /// False for a request of service addresses.
    var isLookup: Bool

    /// Answers from a zone, with faults applied.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
