// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import HTTPDNS
package import Net

/// An account with a vendor of HTTPDNS, and how it is used.
package struct VendorSettings: Sendable, Equatable {
    /// What routes, logs and counters call it.
    package var name: String

    /// Where it stands in the file.
    package var place: SettingsPlace

    /// Whose protocol it speaks, and with which account.
    package var account = Account.tencent(TencentSettings())

    /// The vendor's servers in the order of preference, each with its port.
    package var servers: [SocketAddress] = []

    /// The client's address that the vendor is told; nil: it sees our own.
    package var clientSubnet: IPAddress?

    /// How long one call may take.
    package var timeout = Duration.seconds(2)

    /// Failures in a row after which the next server becomes the first choice.
    package var retriesBeforeSwitch = 3

    /// How long one server is waited for alone.
    package var hedgeAfter = Duration.milliseconds(300)

    /// How long another server than the first stays the first choice.
    package var returnToPrimaryAfter = Duration.seconds(600)

    /// PEM file of the certificates to trust instead of the system's store.
    package var caFile: String?

    /// The versions of HTTP that may be spoken.
    package var http = HTTPVersion.automatic

    /// What depends on the kind of vendor.
    package enum Account: Sendable, Equatable {
        case tencent(TencentSettings)
        case alibaba(AlibabaSettings)
        case json(JSONSettings)
        case baidu(SignedSettings)
        case volcengine(SignedSettings)
    }

    package init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

/// The protocols of vendors.
package enum VendorKind: String, Sendable, Hashable, CaseIterable {
    case tencent
    case alibaba
    case json
    case baidu
    case volcengine
}

// MARK: - Kinds

extension VendorSettings.Account {
    /// An account of this kind with every option at its default.
    init(_ kind: VendorKind) {
        switch kind {
        case .tencent: self = .tencent(TencentSettings())
        case .alibaba: self = .alibaba(AlibabaSettings())
        case .json: self = .json(JSONSettings())
        case .baidu: self = .baidu(SignedSettings(tlsName: Baidu.defaultTLSName))
        case .volcengine: self = .volcengine(SignedSettings(tlsName: Volcengine.defaultTLSName))
        }
    }

    /// Whose protocol is spoken.
    package var kind: VendorKind {
        switch self {
        case .tencent: .tencent
        case .alibaba: .alibaba
        case .json: .json
        case .baidu: .baidu
        case .volcengine: .volcengine
        }
    }

    /// How calls are protected, in a word or two: `aes`, `v2 gcm`, `https`.
    package var channel: String {
        switch self {
        case .tencent(let account):
            account.channel.rawValue
        case .alibaba(let account):
            account.api.rawValue + " "
                + (account.encryption == .none
                    ? account.scheme.rawValue : account.encryption.rawValue)
        case .json(let account):
            (account.url?.scheme ?? .https).rawValue
        case .baidu(let account), .volcengine(let account):
            account.scheme.rawValue
        }
    }

    /// The port of a server that is written without one.
    var port: UInt16 {
        switch self {
        case .tencent(let account): account.channel.defaultPort
        case .alibaba(let account): account.scheme.port
        case .json(let account): account.url?.port ?? VendorScheme.https.port
        case .baidu(let account), .volcengine(let account): account.scheme.port
        }
    }

    /// The servers that the vendor documents; none if there are none.
    var servers: [SocketAddress] {
        let literals =
            switch self {
            case .tencent(let account): account.channel.defaultServers
            case .alibaba(let account): account.region.defaultServers
            case .baidu: Baidu.defaultServers
            case .json, .volcengine: [String]()
            }
        return literals.compactMap { SocketAddress($0, defaultPort: port) }
    }
}

extension VendorSettings {
    /// Whose protocol is spoken; another kind starts with an account at its defaults.
    var kind: VendorKind {
        get { account.kind }
        set { if newValue != kind { account = Account(newValue) } }
    }

    /// Puts servers and ports where the file left them to the kind of account.
    mutating func completeServers() {
        if servers.isEmpty { servers = account.servers }
        for index in servers.indices where servers[index].port == 0 {
            servers[index].port = account.port
        }
    }
}

// MARK: - Accounts by kind

// Each is what the account says if it is of that kind, and else the defaults; setting one makes
// the account one of that kind.
extension VendorSettings {
    /// The account with Tencent.
    var tencent: TencentSettings {
        get { if case .tencent(let settings) = account { settings } else { TencentSettings() } }
        set { account = .tencent(newValue) }
    }

    /// The account with Alibaba.
    var alibaba: AlibabaSettings {
        get { if case .alibaba(let settings) = account { settings } else { AlibabaSettings() } }
        set { account = .alibaba(newValue) }
    }

    /// The JSON API.
    var json: JSONSettings {
        get { if case .json(let settings) = account { settings } else { JSONSettings() } }
        set { account = .json(newValue) }
    }

    /// The account with Baidu.
    var baidu: SignedSettings {
        get {
            if case .baidu(let settings) = account { return settings }
            return SignedSettings(tlsName: Baidu.defaultTLSName)
        }
        set { account = .baidu(newValue) }
    }

    /// The account with Volcengine.
    var volcengine: SignedSettings {
        get {
            if case .volcengine(let settings) = account { return settings }
            return SignedSettings(tlsName: Volcengine.defaultTLSName)
        }
        set { account = .volcengine(newValue) }
    }
}
