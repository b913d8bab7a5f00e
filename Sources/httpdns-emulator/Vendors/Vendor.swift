// SPDX-License-Identifier: Apache-2.0
import Foundation

protocol Vendor: Sendable {
    /// Returns true if the request uses this vendor's protocol.
    func serves(_ request: Request) -> Bool

    /// Parses a request without answering it, because the faults depend on the names.
    func call(_ request: Request, at time: Date) -> Call

    /// Returns an error with this code in the vendor's form.
    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    /// Channel such as `tencent-aes` or `tencent-refused`.
    var channel: String

    /// Names in lower case, without the final dot.
    var names: [String] = []

    /// True if the call resolves names; false if it requests service addresses.
    var isLookup: Bool

    /// Billing of the call; nil if it is free.
    var charge: Charge?

    /// Creates the response from a zone, with the faults inside the answer.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
