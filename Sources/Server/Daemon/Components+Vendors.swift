// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
internal import Net

extension Components {
    /// Returns the existing vendor client with the same settings; nil if there is none.
    func client(of settings: VendorSettings) -> VendorClient? {
        vendors.first { $0.settings.hasSameValues(as: settings) }?.client
    }

    /// Makes a vendor client.
    ///
    /// - Throws: `StartError.vendor` for faults that checking the settings does not find, such as a
    ///   cipher that the installed OpenSSL lacks.
    static func client(
        _ settings: VendorSettings,
        _ http: any HTTPTransport,
        _ clocks: Clocks
    ) throws(StartError) -> VendorClient {
        let vendor: any Vendor
        do {
            vendor = try settings.account.any.vendor()
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
            source: settings.account.any.source(servers: settings.servers)
        )
    }
}

// MARK: - From settings

extension VendorClient.Settings {
    init(_ settings: VendorSettings) {
        self.init()
        timeout = settings.timeout
        retriesBeforeSwitch = settings.retriesBeforeSwitch
        hedgeAfter = settings.hedgeAfter
        returnToPrimaryAfter = settings.returnToPrimaryAfter
        clientSubnet = settings.clientSubnet
        certificateFile = settings.caFile
        version = settings.http
        proxy = settings.proxy
        concurrentCalls = settings.concurrentCalls
        callsPerSecond = settings.callsPerSecond
        batching = settings.batching
        budget = settings.budget.map { budget in
            Budget.Rule(
                callsPerDay: UInt64(budget.callsPerDay),
                onExceeded: budget.onExceeded
            )
        }
    }
}
