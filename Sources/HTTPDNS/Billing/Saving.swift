// SPDX-License-Identifier: Apache-2.0

/// Change of settings, to reduce a vendor's bill.
package enum Saving: Sendable, Hashable {
    /// Change of scheme or encryption to `setting`; a billed item then costs `weight` units.
    case channel(setting: String, weight: UInt64, givesUp: String)

    case families

    case noAAAA

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
        case .families: "the first query for the other address family of a name waits for a call"
        case .noAAAA: "no client gets an IPv6 address (this machine has no IPv6 connectivity)"
        case .minimumTTL:
            "clients notice a changed address up to"
                + " \(ClientLimits.advisedTTL.components.seconds) s later"
        }
    }

    /// Returns the effect of the change; before the change, a billed item costs `weight` units.
    package func effect(weight: UInt64) -> String {
        switch self {
        case .channel(_, let cheaper, _):
            "a billed item costs \(cheaper) units instead of \(weight)"
        case .families, .noAAAA: "up to 50 % fewer units are billed"
        case .minimumTTL:
            "fewer units are billed for names with a TTL below"
                + " \(ClientLimits.advisedTTL.components.seconds) s"
        }
    }
}
