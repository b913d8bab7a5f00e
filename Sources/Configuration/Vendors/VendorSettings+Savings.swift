// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS

extension VendorSettings {
    /// Returns changes of settings that reduce the cost; none for a free vendor.
    package func savings(_ price: PriceModel, under settings: Settings, hasIPv6: Bool) -> [Saving] {
        guard price.weight > 0 else { return [] }
        var savings: [Saving] = []
        if case .alibaba(let account) = account, self.price?.weight == nil {
            savings += account.savings
        }
        if price.item == .family {
            if client.families == .both {
                savings.append(.families)
            } else if !hasIPv6, settings.answers.aaaa == .keep {
                savings.append(.noAAAA)
            }
        }
        if settings.cache.minimumTTL < ClientLimits.advisedTTL { savings.append(.minimumTTL) }
        return savings
    }
}

extension AlibabaSettings {
    /// Other encryptions that cost less according to the vendor's public price page.
    fileprivate var savings: [Saving] {
        guard scheme == .https else { return [] }
        var savings: [Saving] = []
        if encryption != .none {
            savings.append(
                .channel(
                    setting: "encryption: none",
                    weight: Alibaba.weight(usesTLS: true, isEncrypted: false),
                    givesUp: "names are not encrypted a second time inside TLS"
                )
            )
        }
        if api == .v2 {
            savings.append(
                .channel(
                    setting: "scheme: http, encryption: gcm",
                    weight: Alibaba.weight(usesTLS: false, isEncrypted: true),
                    givesUp:
                        "no forward secrecy; an attacker on the path sees the account, and the "
                        + "sizes and times of calls, but no names and addresses; the attacker "
                        + "cannot forge an answer, but can replay an older answer for the same name"
                )
            )
        }
        return savings
    }
}

// MARK: - Hints

extension Settings {
    package func costHints(hasIPv6: Bool) -> [String] {
        vendors.flatMap { vendor -> [String] in
            guard let api = try? vendor.account.vendor(), api.facts.isBillable else { return [] }
            let price = vendor.price?.applied(to: api.price) ?? api.price
            return vendor.savings(price, under: self, hasIPv6: hasIPv6).map { saving in
                "vendor \(vendor.name): with `\(saving.setting)`, "
                    + "\(saving.effect(weight: price.weight)); disadvantage: \(saving.givesUp)"
            }
        }
    }
}
