// SPDX-License-Identifier: Apache-2.0
import DNSWire
internal import HTTPDNS
import Net

extension VendorSettings: SettingsNamedEntry {
    /// The options of each kind, in the order of the manual.
    static let tables: [VendorKind: SettingsTable<VendorSettings>] = {
        var tables: [VendorKind: SettingsTable<VendorSettings>] = [:]
        for kind in VendorKind.allCases {
            let own = ownOptions(of: kind)
            tables[kind] = SettingsTable(
                [kindOption] + own + commonOptions,
                strangers: strangers(to: kind, having: own.map(\.name))
            )
        }
        return tables
    }()

    /// The options of an entry of which the kind cannot be told: all there are, unread.
    private static let undecided = SettingsTable(
        [kindOption]
            + Set(
                (VendorKind.allCases.flatMap(ownOptions) + commonOptions).map(\.name)
            ).sorted().map(SettingsOption.unread)
    )

    static func table(for node: YAMLNode) -> SettingsTable<VendorSettings> {
        node["kind"]?.scalar.flatMap(VendorKind.init).flatMap { tables[$0] } ?? undecided
    }

    var table: SettingsTable<VendorSettings> { Self.tables[kind] ?? Self.undecided }

    static var examples: [SettingsManual.Example] {
        VendorKind.allCases.map { kind in
            var fresh = VendorSettings(name: kind.rawValue, place: SettingsPlace())
            fresh.kind = kind
            // What all kinds have is explained once.
            let isFirst = kind == VendorKind.allCases.first
            let options = [kindOption] + ownOptions(of: kind) + (isFirst ? commonOptions : [])
            return SettingsManual.Example(
                name: kind.rawValue,
                doc: about(kind) + (isFirst ? "" : " " + commonOptionsNote),
                entries: SettingsTable(options).explain(fresh)
            )
        }
    }

    /// The options that only vendors of this kind have.
    private static func ownOptions(of kind: VendorKind) -> [SettingsOption<VendorSettings>] {
        switch kind {
        case .tencent: tencentOptions
        case .alibaba: alibabaOptions
        case .json: jsonOptions
        case .baidu: baiduOptions
        case .volcengine: volcengineOptions
        }
    }

    /// What to say about the options of other kinds, by option.
    private static func strangers(
        to kind: VendorKind,
        having own: [String]
    ) -> [String: String] {
        var kinds: [String: [String]] = [:]
        for other in VendorKind.allCases where other != kind {
            for option in ownOptions(of: other) where !own.contains(option.name) {
                kinds[option.name, default: []].append(other.rawValue)
            }
        }
        return kinds.mapValues { others in
            "is for vendors of the kind\(others.count > 1 ? "s" : "")"
                + " \(others.joined(separator: ", ")), not \(kind.rawValue)"
        }
    }

    /// The paragraph above the example of a kind.
    private static func about(_ kind: VendorKind) -> String {
        switch kind {
        case .tencent:
            "Tencent Cloud (DNSPod)."
        case .alibaba:
            "Alibaba Cloud (EMAS HTTPDNS)."
        case .json:
            "A resolver with a DNS API in JSON after Google's model, such as AliDNS, DNSPod, Google"
                + " and Cloudflare have. It resolves all names, one family a call."
        case .baidu:
            "Baidu Cloud. \(undocumented)"
        case .volcengine:
            "Volcengine (ByteDance). \(undocumented)"
        }
    }

    /// What to know about protocols that are in part taken from the vendors' programs.
    private static let undocumented = """
        Its protocol is not documented in full: try it before you rely on it.
        """

    /// Which options are not repeated.
    private static var commonOptionsNote: String {
        let shown = commonOptions.filter { option in
            guard
                case .notYet = option.explain(VendorSettings(name: "", place: SettingsPlace())).form
            else { return true }
            return false
        }
        return "It also has "
            + shown.dropLast().map { "`\($0.name)`" }.joined(separator: ", ")
            + shown.suffix(1).map { " and `\($0.name)`" }.joined() + ", as above."
    }
}

// MARK: - Options of all kinds

extension VendorSettings {
    private static let kindOption = SettingsOption<VendorSettings>.option(
        "kind",
        \.kind,
        .choice(),
        required: true,
        """
        Whose protocol the vendor speaks.
        """
    )

    private static let commonOptions: [SettingsOption<VendorSettings>] = [
        .option(
            "client-subnet",
            \.clientSubnet,
            .ip,
            // 203.0.113.7 (RFC 5737).
            example: .v4(IPv4Address(value: 0xCB00_7107)),
            """
            The address that the vendor chooses answers for, instead of the one it sees the calls \
            come from.
            """
        ),
        .option(
            "timeout",
            \.timeout,
            .duration(SettingsLimits.timeout),
            """
            How long one call may take. All calls for one question together take at most 3s.
            """
        ),
        .option(
            "retries-before-switch",
            \.retriesBeforeSwitch,
            .integer(SettingsLimits.retries),
            """
            After so many failures in a row the next server becomes the first choice.
            """
        ),
        .option(
            "hedge-after",
            \.hedgeAfter,
            .duration(SettingsLimits.hedge),
            """
            A server that has not answered after so long is not waited for alone: the next one is \
            asked too, and the first answer counts.
            """
        ),
        .option(
            "return-to-primary-after",
            \.returnToPrimaryAfter,
            .duration(SettingsLimits.returnToPrimary),
            """
            So long after another server has become the first choice, one call tries the first of \
            the list again; if it answers, it is the first choice again.
            """
        ),
        .option(
            "ca-file",
            \.caFile,
            .certificates,
            example: "/etc/httpdnsd/ca.pem",
            """
            PEM file of the certificates to trust instead of the system's.
            """
        ),
        .option(
            "http",
            \.http,
            .choice(notYet: [.http3]),
            """
            The version of HTTP; `auto` speaks HTTP/2 where the server does, else 1.1.
            """
        ),
        .notYet("proxy"),
        .notYet("budget"),
    ]

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
}

extension SecretSetting {
    /// A secret of the manual's example, of which only the source is shown.
    static func example(_ file: String) -> SecretSetting {
        SecretSetting(octets: [], source: .file("/etc/httpdnsd/" + file))
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
