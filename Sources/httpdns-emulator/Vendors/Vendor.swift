// SPDX-License-Identifier: Apache-2.0
import Foundation

protocol Vendor: Sendable {
    func serves(_ request: Request) -> Bool

    func call(_ request: Request, at time: Date) -> Call

    func failure(_ code: String) -> Response
}

struct Call: Sendable {
    var channel: String

    var names: [String] = []

    /// False if the call requests service addresses or usage counts.
    var isLookup: Bool

    var charge: Charge?

    var answer: @Sendable (Zone, Distortion) throws -> Response
}
