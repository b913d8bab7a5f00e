// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
package import Net

/// Options, checks and protocol of one kind of vendor.
protocol VendorAccount: Sendable, Equatable {
    static var about: String { get }

    static var options: [SettingsOption<VendorSettings>] { get }
    init()

    /// Protection of calls, such as `aes`, `v2 gcm` or `https`.
    var channelName: String { get }

    var usesTLS: Bool { get }

    var isProtected: Bool { get }

    var port: UInt16 { get }
    var documentedServers: [String] { get }

    /// Sets the defaults of omitted options.
    mutating func complete(servers: [SocketAddress])

    var secrets: [(option: String, secret: SecretSetting?)] { get }
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading)
    func vendor() throws -> any Vendor

    /// Returns the service that lists the server addresses; nil if only `servers` is used.
    func source(servers: [SocketAddress]) -> VendorClient.AddressSource?
}

extension VendorAccount {
    var isProtected: Bool { usesTLS }
    var port: UInt16 { usesTLS ? 443 : 80 }
    mutating func complete(servers: [SocketAddress]) {}
    func source(servers: [SocketAddress]) -> VendorClient.AddressSource? { nil }
}

// MARK: - Kinds

package enum VendorKind: String, Sendable, Hashable, CaseIterable {
    case tencent
    case alibaba
    case json
    case baidu
    case volcengine

    static let aliases: [String: String] = {
        let names: [VendorKind: [String]] = [
            .tencent: ["dnspod", "tencentcloud", "tencent-cloud", "qcloud"],
            .alibaba: ["aliyun", "ali", "alidns", "alicloud", "emas"],
            .json: ["doh", "dns-json", "json-api", "google", "cloudflare"],
            .baidu: ["baiducloud", "baidu-cloud", "bce"],
            .volcengine: ["volc", "bytedance", "byteplus", "huoshan", "trafficroute"],
        ]
        return names.reduce(into: [:]) { aliases, entry in
            for name in entry.value { aliases[name] = entry.key.rawValue }
        }
    }()

    var account: any VendorAccount.Type {
        switch self {
        case .tencent: TencentSettings.self
        case .alibaba: AlibabaSettings.self
        case .json: JSONSettings.self
        case .baidu: BaiduSettings.self
        case .volcengine: VolcengineSettings.self
        }
    }
}

extension VendorSettings {
    package enum Account: Sendable, Equatable {
        case tencent(TencentSettings)
        case alibaba(AlibabaSettings)
        case json(JSONSettings)
        case baidu(BaiduSettings)
        case volcengine(VolcengineSettings)
    }
}

extension VendorSettings.Account {
    package init(_ kind: VendorKind) {
        switch kind {
        case .tencent: self = .tencent(TencentSettings())
        case .alibaba: self = .alibaba(AlibabaSettings())
        case .json: self = .json(JSONSettings())
        case .baidu: self = .baidu(BaiduSettings())
        case .volcengine: self = .volcengine(VolcengineSettings())
        }
    }

    package var kind: VendorKind {
        switch self {
        case .tencent: .tencent
        case .alibaba: .alibaba
        case .json: .json
        case .baidu: .baidu
        case .volcengine: .volcengine
        }
    }

    var any: any VendorAccount {
        switch self {
        case .tencent(let account): account
        case .alibaba(let account): account
        case .json(let account): account
        case .baidu(let account): account
        case .volcengine(let account): account
        }
    }

    package var channel: String { any.channelName }
    package var usesTLS: Bool { any.usesTLS }

    /// Throws if OpenSSL lacks the cipher of the protocol.
    package func vendor() throws -> any Vendor { try any.vendor() }

    package func source(servers: [SocketAddress]) -> VendorClient.AddressSource? {
        any.source(servers: servers)
    }

    mutating func complete(servers: [SocketAddress]) {
        switch self {
        case .tencent(var account):
            account.complete(servers: servers)
            self = .tencent(account)
        case .alibaba(var account):
            account.complete(servers: servers)
            self = .alibaba(account)
        case .json, .baidu, .volcengine: break
        }
    }
}

// MARK: - Shared by several kinds

package enum VendorScheme: String, Sendable, Hashable, CaseIterable {
    case https

    case http
}

extension VendorSettings {
    static let undocumented = """
        Parts of the protocol are undocumented: test with `httpdnsctl prove`.
        """

    static let signingSecretDoc = "Key that signs calls."

    static let certificateDoc = "Host name or IP address in the certificate of the servers."

    static func account(
        _ path: any WritableKeyPath<VendorSettings, String> & Sendable
    ) -> SettingsOption<VendorSettings> {
        .option("account", path, .account, required: true, example: "100000") {
            "Number of your account, as shown in the vendor's console."
        }
    }

    static func scheme(
        _ path: any WritableKeyPath<VendorSettings, VendorScheme> & Sendable,
        _ warning: String
    ) -> SettingsOption<VendorSettings> {
        .option("scheme", path, .choice()) { "Transport of calls. " + warning }
    }

    static func servers(
        standard: String?,
        example: [String],
        _ doc: String
    ) -> SettingsOption<VendorSettings> {
        .option(
            "servers",
            \.servers,
            .list("servers", of: .server, count: SettingsLimits.servers),
            required: standard == nil,
            standard: standard,
            example: example.compactMap { SocketAddress($0, defaultPort: 0) }
        ) { "IP addresses of the vendor's servers, in order of preference. " + doc }
    }

    static func batching(_ names: Int) -> SettingsOption<VendorSettings> {
        .option("batching", \.client.batching, .choice()) {
            """
            Batching of up to \(names) names of a client into one call. `waiting`: a call has \
            several names only if these names had to wait because of `concurrent-calls`. \
            `together`: a call also has several names if a client queries these names at the same \
            time. All names of a call wait for the slowest name. If the vendor rejects one name, \
            the call fails for all its names. This also affects other clients that query one of \
            these names. So allow batching only if you trust all clients.
            """
        }
    }

    static func warnOfPlainHTTP(
        _ scheme: VendorScheme,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard scheme == .http else { return }
        reading.warn(
            reading.place(of: "\(path).scheme"),
            "answers over plain HTTP can be read and forged; they are labelled as unprotected",
            hint: "set `scheme: https`"
        )
    }
}

extension SecretSetting {
    static func example(_ file: String) -> SecretSetting {
        var nothing: [UInt8] = []
        return SecretSetting(wiping: &nothing, source: .file("/etc/httpdnsd/" + file))
    }
}

package func complaint<Failure: Error>(of body: () throws(Failure) -> Void) -> String? {
    do throws(Failure) {
        try body()
        return nil
    } catch {
        return "\(error)"
    }
}

extension Settings {
    /// True if a secret is a credential, which systemd copies only when the service starts.
    package var usesCredentials: Bool {
        let secrets =
            vendors.flatMap { $0.secrets.map(\.secret) } + [fleet?.secret, fleet?.password]
        return secrets.contains { secret in
            if case .credential = secret?.source { true } else { false }
        }
    }
}
