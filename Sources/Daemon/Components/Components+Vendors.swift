// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import HTTPDNS
internal import Net

extension Components {
    func client(of settings: VendorSettings) -> VendorClient? {
        vendors.first { $0.settings.hasSameValues(as: settings) }?.client
    }

    /// - Throws: `StartError.vendor`; see `Components.init`.
    static func client(
        _ settings: VendorSettings,
        _ http: any HTTPTransport,
        _ clocks: Clocks
    ) throws(StartError) -> VendorClient {
        let vendor: any Vendor
        do {
            vendor = try settings.account.vendor()
        } catch {
            throw .vendor(settings.name, "\(error)")
        }
        return VendorClient(
            name: settings.name,
            vendor: vendor,
            servers: settings.servers,
            settings: VendorClient.Settings(settings),
            transport: http,
            clocks: clocks,
            source: settings.account.source(servers: settings.servers)
        )
    }
}
