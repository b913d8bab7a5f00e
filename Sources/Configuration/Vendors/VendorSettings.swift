// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
package import Net

package struct VendorSettings: Sendable, Equatable {
    package var name: String
    package var place: SettingsPlace
    package var account = Account.tencent(TencentSettings())
    package var servers: [SocketAddress] = []

    package var client = VendorClient.Settings()

    package var billing: BillingSettings?

    package var price: PriceSettings?
}

/// Read-only access key of the account API.
package struct BillingSettings: Sendable, Equatable {
    package var accessKeyID: SecretSetting?
    package var accessKeySecret: SecretSetting?
}

extension VendorSettings {
    /// Nil if the settings have no access key.
    package var resolveCount: AlibabaResolveCount? {
        guard let keyID = billing?.accessKeyID, let keySecret = billing?.accessKeySecret else {
            return nil
        }
        return AlibabaResolveCount(keyID: keyID.value, keySecret: keySecret.value)
    }

    var secrets: [(option: String, secret: SecretSetting?)] {
        account.any.secrets + [
            ("billing.access-key-id", billing?.accessKeyID),
            ("billing.access-key-secret", billing?.accessKeySecret),
        ]
    }
}

/// Price rules; a nil value is replaced by the vendor's public price.
package struct PriceSettings: Sendable, Equatable {
    package var per10000: Double?
    package var currency: String?

    /// Per calendar month (UTC).
    package var freePerMonth: Int?

    package var weight: Int?
}

extension PriceSettings {
    package func applied(to page: PriceModel) -> PriceModel {
        var model = page
        if let weight { model.weight = UInt64(weight) }
        if let freePerMonth { model.freePerMonth = UInt64(freePerMonth) }
        if let per10000, let currency {
            model.price = PriceModel.Price(per10000: per10000, currency)
        }
        return model
    }
}

// MARK: - Kinds

extension VendorSettings {
    /// Setting another kind resets the account to its defaults.
    package var kind: VendorKind {
        get { account.kind }
        set { if newValue != kind { account = Account(newValue) } }
    }

    mutating func completeServers() {
        account.complete(servers: servers)
        let port = account.any.port
        if servers.isEmpty {
            servers = account.any.documentedServers.compactMap {
                SocketAddress($0, defaultPort: port)
            }
        }
        for index in servers.indices where servers[index].port == 0 { servers[index].port = port }
    }
}
