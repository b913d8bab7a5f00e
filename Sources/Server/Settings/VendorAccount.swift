// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
internal import Net

/// What one kind of vendor needs to know, in the manual, in checks and to be asked.
///
/// Each kind has a file of its own, `VendorTables+….swift`, with all of this; its protocol is in
/// the room HTTPDNS.  Besides those two files a new vendor is a case of `VendorKind` and of
/// `VendorSettings.Account`.
protocol VendorAccount: Sendable, Equatable {
    /// The paragraph of the manual above the kind's example.
    static var about: String { get }

    /// The options that vendors of this kind have and others do not, or not in the same sense.
    static var options: [SettingsOption<VendorSettings>] { get }

    /// An account with every option at its default.
    init()

    /// How calls are protected, in a word or two: `aes`, `v2 gcm`, `https`.
    var channelName: String { get }

    /// Whether calls go over TLS.
    var usesTLS: Bool { get }

    /// Whether a forged reply is detected, by TLS or by the vendor's protocol.
    var isProtected: Bool { get }

    /// The port of a server that is written without one.
    var port: UInt16 { get }

    /// The servers that the vendor documents; none if there are none.
    var documentedServers: [String] { get }

    /// Puts in what the file left to the kind, before the servers are; none are there if the file
    /// names none.
    mutating func complete(servers: [SocketAddress])

    /// The tokens and keys that it has, by the names of their options.
    var secrets: [(option: String, secret: SecretSetting?)] { get }

    /// Reports what does not fit together; `path` is the vendor's.
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading)

    /// What speaks the protocol.
    func vendor() throws -> any Vendor

    /// Whom to ask for the servers that shall be asked; nil if those in the settings stay.
    func source(servers: [SocketAddress]) -> VendorClient.AddressSource?
}

extension VendorAccount {
    var isProtected: Bool { usesTLS }

    var port: UInt16 { usesTLS ? 443 : 80 }

    mutating func complete(servers: [SocketAddress]) {}

    func source(servers: [SocketAddress]) -> VendorClient.AddressSource? { nil }
}

// MARK: - Kinds

/// The protocols of vendors.
package enum VendorKind: String, Sendable, Hashable, CaseIterable {
    case tencent
    case alibaba
    case json
    case baidu
    case volcengine

    /// Other names of the vendors and their services, each with the kind that it suggests.
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

    /// What is known of the kind.
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
    /// What depends on the kind of vendor.
    package enum Account: Sendable, Equatable {
        case tencent(TencentSettings)
        case alibaba(AlibabaSettings)
        case json(JSONSettings)
        case baidu(BaiduSettings)
        case volcengine(VolcengineSettings)
    }
}

extension VendorSettings.Account {
    /// An account of this kind with every option at its default.
    init(_ kind: VendorKind) {
        switch kind {
        case .tencent: self = .tencent(TencentSettings())
        case .alibaba: self = .alibaba(AlibabaSettings())
        case .json: self = .json(JSONSettings())
        case .baidu: self = .baidu(BaiduSettings())
        case .volcengine: self = .volcengine(VolcengineSettings())
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

    /// What all kinds of accounts can say of themselves.
    var any: any VendorAccount {
        switch self {
        case .tencent(let account): account
        case .alibaba(let account): account
        case .json(let account): account
        case .baidu(let account): account
        case .volcengine(let account): account
        }
    }

    /// How calls are protected, in a word or two: `aes`, `v2 gcm`, `https`.
    package var channel: String { any.channelName }

    /// Puts in what the file left to the kind; `servers` are those that it names.
    mutating func complete(servers: [SocketAddress]) {
        switch self {
        case .tencent(var account):
            account.complete(servers: servers)
            self = .tencent(account)
        case .alibaba(var account):
            account.complete(servers: servers)
            self = .alibaba(account)
        case .json, .baidu, .volcengine:
            break
        }
    }
}

// MARK: - What several kinds have

/// What requests travel over.
package enum VendorScheme: String, Sendable, Hashable, CaseIterable {
    /// TLS.
    case https

    /// Plain HTTP, which others can read and forge unless the vendor's protocol prevents it.
    case http
}

extension VendorSettings {
    /// What to know about protocols that are in part taken from the vendors' programs.
    static let undocumented = """
        Its protocol is not documented in full: try it before you rely on it.
        """

    static let signingSecretDoc = """
        The key that signs calls, kept in a file that other users cannot read, or in a credential \
        of systemd: {credential: NAME}.
        """

    static let certificateDoc = """
        The name or IP address that the certificate of the servers must carry.
        """

    /// The row of the account's number.
    static func account(
        _ path: any WritableKeyPath<VendorSettings, String> & Sendable
    ) -> SettingsOption<VendorSettings> {
        .option(
            "account",
            path,
            .account,
            required: true,
            example: "100000",
            """
            The number of your account, from the vendor's console.
            """
        )
    }

    /// The row of the scheme.
    static func scheme(
        _ path: any WritableKeyPath<VendorSettings, VendorScheme> & Sendable,
        _ warning: String
    ) -> SettingsOption<VendorSettings> {
        .option("scheme", path, .choice(), "What calls travel over. " + warning)
    }

    /// The row of the servers.
    ///
    /// - Parameters:
    ///   - standard: the default in words; nil if the file must name them.
    ///   - doc: what the manual adds.
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
            example: example.compactMap { SocketAddress($0, defaultPort: 0) },
            "The vendor's servers by IP address, the preferred one first. " + doc
        )
    }

    /// The row of vendors whose calls can carry several names.
    static func batching(_ names: Int) -> SettingsOption<VendorSettings> {
        .option(
            "batching",
            \.batching,
            .choice(),
            """
            Which names share a call, up to \(names): those that are `waiting` because \
            `concurrent-calls` are under way, or also those that come `together`. That saves \
            calls, but then the slowest name of a call holds up the others.
            """
        )
    }

    /// Says that plain HTTP is not safe, if that is what is used.
    static func warnOfPlainHTTP(
        _ scheme: VendorScheme,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard scheme == .http else { return }
        reading.warn(
            reading.place(of: "\(path).scheme"),
            "over plain HTTP others can read and forge answers, which are labelled as unprotected",
            hint: "say `scheme: https`"
        )
    }
}

extension SecretSetting {
    /// A secret of the manual's example, of which only the source is shown.
    static func example(_ file: String) -> SecretSetting {
        var nothing: [UInt8] = []
        return SecretSetting(wiping: &nothing, source: .file("/etc/httpdnsd/" + file))
    }
}

/// What an initialiser says against its arguments; nil if it accepts them.
func complaint<Failure: Error>(of body: () throws(Failure) -> Void) -> String? {
    do throws(Failure) {
        try body()
        return nil
    } catch {
        return "\(error)"
    }
}
