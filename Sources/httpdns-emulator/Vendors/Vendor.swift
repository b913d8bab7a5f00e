// SPDX-License-Identifier: Apache-2.0
import Foundation

protocol Vendor: Sendable {
    func serves(_ request: Request) -> Bool

    /// Parses a request.
    ///
    /// The emulator selects faults by the names of the call, and then calls `answer`.
    func call(_ request: Request, at time: Date) -> Call

    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    /// Name of the counter: the vendor, then the protection or `refused`, such as `tencent-aes`.
    var channel: String

    var names: [String] = []

    /// True if the call resolves names; false if it requests service addresses or usage counts.
    var isLookup: Bool

    var charge: Charge?

    /// Creates the response from a zone, with the faults in the `Distortion`.
    var answer: @Sendable (Zone, Distortion) throws -> Response
}
