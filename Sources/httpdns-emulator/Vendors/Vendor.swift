// SPDX-License-Identifier: Apache-2.0
import Foundation

protocol Vendor: Sendable {
    /// Returns true if the request uses the protocol of this vendor.
    func serves(_ request: Request) -> Bool

    /// Parses a request without answering it, because the faults depend on the names.
    func call(_ request: Request, at time: Date) -> Call

    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    /// Channel such as `tencent-aes` or `tencent-refused`.
    var channel: String

    var names: [String] = []

    /// True if the call resolves names; false if it requests service addresses.
    var isLookup: Bool

    var charge: Charge?

    /// Creates the response from a zone, with the faults inside the answer.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
