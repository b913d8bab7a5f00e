// SPDX-License-Identifier: Apache-2.0

/// Change of the settings that reduces a vendor's bill.
package enum Saving: Sendable, Hashable {
    /// Change of `setting`: one family of a name costs `weight` units; `givesUp` is a drawback.
    case channel(setting: String, weight: UInt64, givesUp: String)

    case families

    case noAAAA

    /// Caching of answers for at least ``ClientLimits/advisedTTL``.
    case minimumTTL

    package var setting: String {
        switch self {
        case .channel(let setting, _, _): setting
        case .families: "families: auto"
        case .noAAAA: "answers: {aaaa: suppress}"
        case .minimumTTL: "minimum-ttl: \(ClientLimits.advisedTTL.components.seconds)s"
        }
    }

    package var givesUp: String {
        switch self {
        case .channel(_, _, let givesUp): givesUp
        case .families: "nothing, but the first query for a name's other family waits for a call"
        case .noAAAA:
            "IPv6 addresses for all names and clients; this machine has no IPv6 connectivity"
        case .minimumTTL:
            "changed addresses are noticed later; the saving is an upper bound, for names in "
                + "constant use"
        }
    }

    /// Returns the effect on the billed units.
    package func effect(weight: UInt64) -> String {
        switch self {
        case .channel(_, let cheaper, _): "\(cheaper) units instead of \(weight)"
        case .families, .noAAAA: "up to 50 % fewer units"
        case .minimumTTL: "fewer units for names with a shorter TTL"
        }
    }
}
