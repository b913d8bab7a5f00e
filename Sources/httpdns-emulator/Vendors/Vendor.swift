// SPDX-License-Identifier: Apache-2.0
import Foundation

protocol Vendor: Sendable {
    /// True for a request of this vendor.
    func serves(_ request: Request) -> Bool

    /// Does not answer yet: faults depend on the names.
    func call(_ request: Request, at time: Date) -> Call

    /// Returns the error for any code, in the vendor's form.
    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    /// Such as `tencent-aes`, or `tencent-refused`.
    var channel: String

    /// Lower case, no final dot.
    var names: [String] = []

    /// False for a request of service addresses.
    var isLookup: Bool

    /// Nil if the call is free.
    var charge: Charge?

    /// Responds from a zone, with faults applied.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
