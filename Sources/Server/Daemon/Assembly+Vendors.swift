// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net

extension Assembly {
    /// Makes the client of a vendor.
    ///
    /// - Throws: `StartError.vendor` for what only shows now, such as a cipher that the installed
    ///   OpenSSL does not have.
    static func client(
        _ settings: VendorSettings,
        _ http: HTTPClient
    ) throws(StartError) -> VendorClient {
        let vendor: any Vendor
        do {
            vendor = try self.vendor(settings.account)
        } catch {
            throw .vendor(settings.name, "\(error)")
        }
        return VendorClient(
            name: settings.name,
            vendor: vendor,
            servers: settings.servers,
            settings: VendorClient.Settings(settings),
            transport: http,
            clocks: .system
        )
    }

    /// Makes what speaks the protocol of an account.
    nonisolated static func vendor(_ account: VendorSettings.Account) throws -> any Vendor {
        switch account {
        case .tencent(let account): try Tencent(account)
        case .alibaba(let account): try Alibaba(account)
        case .json(let account): try DNSJSON(account)
        case .baidu(let account): try Baidu(account)
        case .volcengine(let account): try Volcengine(account)
        }
    }
}

// MARK: - From settings

extension VendorClient.Settings {
    fileprivate init(_ settings: VendorSettings) {
        self.init()
        timeout = settings.timeout
        retriesBeforeSwitch = settings.retriesBeforeSwitch
        hedgeAfter = settings.hedgeAfter
        returnToPrimaryAfter = settings.returnToPrimaryAfter
        clientSubnet = settings.clientSubnet
        certificateFile = settings.caFile
        version = settings.http
    }
}

extension Tencent {
    fileprivate init(_ settings: TencentSettings) throws(TencentSetupError) {
        switch settings.channel {
        case .https:
            guard let token = settings.token else { throw .token }
            try self.init(
                token: token.value,
                id: settings.id,
                tlsName: settings.tlsName.flatMap { try? Name($0) }
            )
        case .aes, .des:
            guard let key = settings.key, let id = settings.id else { throw .id }
            try self.init(
                key: key.value,
                id: id,
                algorithm: settings.channel,
                clientSubnetForm: settings.clientSubnetForm
            )
        }
    }
}

extension Alibaba {
    fileprivate init(_ settings: AlibabaSettings) throws(AlibabaSetupError) {
        try self.init(
            account: settings.account,
            secret: settings.secret?.value,
            aesKey: settings.aesKey?.value,
            api: settings.api,
            encryption: settings.encryption,
            usesTLS: settings.scheme == .https,
            tlsName: settings.tlsName,
            region: settings.region
        )
    }
}

extension DNSJSON {
    fileprivate init(_ settings: JSONSettings) throws(DNSJSONSetupError) {
        guard let url = settings.url else { throw .url }
        var account: Account?
        if let id = settings.account {
            guard let keyID = settings.accessKeyID, let secret = settings.secret else {
                throw .account
            }
            account = Account(id: id, keyID: keyID, secret: secret.value)
        }
        try self.init(url: url.text, account: account, isBillable: settings.isBillable)
    }
}

extension Baidu {
    fileprivate init(_ settings: SignedSettings) throws(AccountError) {
        guard let secret = settings.secret else { throw .secret }
        try self.init(
            account: settings.account,
            secret: secret.value,
            usesTLS: settings.scheme == .https,
            tlsName: settings.tlsName
        )
    }
}

extension Volcengine {
    fileprivate init(_ settings: SignedSettings) throws(AccountError) {
        guard let secret = settings.secret else { throw .secret }
        try self.init(
            account: settings.account,
            secret: secret.value,
            usesTLS: settings.scheme == .https,
            tlsName: settings.tlsName
        )
    }
}
