// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import HTTPDNS
internal import Net

extension Components {
    func client(of settings: VendorSettings) -> VendorClient? {
        vendors.first { $0.settings.hasSameValues(as: settings) }?.client
    }

    static func client(
        _ settings: VendorSettings,
        _ http: any HTTPTransport,
        _ dependencies: Dependencies,
        sharesBudget: Bool = false
    ) throws(StartError) -> VendorClient {
        let vendor: any Vendor
        do {
            vendor = try settings.account.vendor()
        } catch {
            throw .vendor(settings.name, "\(error)")
        }
        var clientSettings = settings.client
        clientSettings.budget?.isShared = sharesBudget
        clientSettings.price = settings.price?.applied(to: vendor.price)
        return VendorClient(
            name: settings.name,
            vendor: vendor,
            servers: settings.servers,
            settings: clientSettings,
            transport: http,
            clocks: dependencies.clocks,
            source: settings.account.source(servers: settings.servers),
            usage: dependencies.usage,
            hasIPv6: { [detected = dependencies.detected, hasIPv6 = dependencies.hasIPv6] in
                detected.current != .v4 && hasIPv6()
            }
        )
    }
}
