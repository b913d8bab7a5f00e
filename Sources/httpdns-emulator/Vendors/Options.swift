// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The choices Tencent's documents leave.
struct TencentOptions: ParsableArguments {
    @Option(help: .init("Lines of a batch that end in |clientip: last, every.", valueName: "which"))
    var clientIpLines = Tencent.ClientLines.last

    @Option(
        help: .init(
            "A family without addresses: zero, zero-ttl, empty, empty-ttl ('0', '0,0', '', ',0').",
            valueName: "form"
        )
    )
    var missingFamily = Tencent.MissingFamily.zero

    @Option(help: .init("Status for a wrong account; 200: empty answer.", valueName: "code"))
    var refusal = 401

    @Flag(help: "Refuse a dn without ';expiry'.")
    var requireExpiry = false

    @Flag(help: "Refuse a dn with ';expiry'.")
    var refuseExpiry = false

    @Option(help: .init("Service addresses of /conf (its own), by comma.", valueName: "addresses"))
    var confServers: String?

    @Option(help: .init("Minutes they hold, 1-1440.", valueName: "minutes"))
    var confTtl = 60

    /// Tencent's replies of a server whose own address is `own`.
    ///
    /// - Throws: `ValidationError`.
    func manner(at own: Endpoint) throws -> Tencent.Manner {
        guard (200...599).contains(refusal) else {
            throw ValidationError("--refusal: \(refusal) is no status code")
        }
        guard !requireExpiry || !refuseExpiry else {
            throw ValidationError("--require-expiry and --refuse-expiry leave nothing to answer")
        }
        guard (1...1440).contains(confTtl) else {
            throw ValidationError("--conf-ttl: \(confTtl) is not in 1-1440")
        }
        let addresses = confServers?.split(separator: ",").map(String.init)
        if let wrong = addresses?.first(where: { Address($0)?.family != .v4 }) {
            throw ValidationError("--conf-servers: '\(wrong)' is no IPv4 address")
        }
        return Tencent.Manner(
            clientLines: clientIpLines,
            missingFamily: missingFamily,
            refusal: refusal,
            requiresExpiry: requireExpiry,
            refusesExpiry: refuseExpiry,
            serviceAddresses: addresses ?? (own.address.family == .v4 ? [own.address.text] : []),
            serviceMinutes: confTtl
        )
    }
}

/// The choices Alibaba's console and documents leave.
struct AlibabaOptions: ParsableArguments {
    @Flag(help: "Refuse unsigned lookups (UnsignedInterfaceDisabled).")
    var requireSignature = false

    @Flag(help: "Refuse sdns- parameters, as overseas (SdnsNotSupported).")
    var noSdns = false

    @Option(
        help: .init("Service addresses of ss, ADDR or ADDR:PORT (its own).", valueName: "list")
    )
    var ssServers: String?

    @Option(help: .init("The service_status ss names: enable, disable.", valueName: "status"))
    var ssStatus: Alibaba.ServiceStatus?

    @Option(
        help: .init("The no_ip_code of unregistered names; '' leaves it out.", valueName: "code")
    )
    var unlistedCode = "DomainNotExist"

    /// How Alibaba answers, at the address `own`.
    ///
    /// - Throws: `ValidationError`.
    func manner(at own: Endpoint) throws -> Alibaba.Manner {
        let servers = try ssServers?.split(separator: ",").map { text in
            guard let server = Alibaba.Server(String(text)) else {
                throw ValidationError("--ss-servers: '\(text)' is neither ADDR nor ADDR:PORT")
            }
            return server
        }
        return Alibaba.Manner(
            requiresSignature: requireSignature,
            hasSDNS: !noSdns,
            servers: servers ?? [Alibaba.Server(own)],
            status: ssStatus,
            unlistedCode: unlistedCode
        )
    }
}

/// The differences between the servers of DNS in JSON.
struct DNSJSONOptions: ParsableArguments {
    @Option(
        help: .init("Question as array, or as in AliDNS's document: object.", valueName: "form")
    )
    var jsonQuestion = DNSJSON.QuestionForm.array

    @Option(help: .init("Names with a final dot or without: dotted, bare.", valueName: "form"))
    var jsonNames = DNSJSON.NameForm.dotted

    @Flag(help: "Refuse calls without AliDNS's uid, ak, key, ts.")
    var jsonRequireKey = false

    /// How it answers.
    var manner: DNSJSON.Manner {
        .init(question: jsonQuestion, names: jsonNames, requiresKey: jsonRequireKey)
    }
}

extension Tencent.ClientLines: ExpressibleByArgument {}
extension Tencent.MissingFamily: ExpressibleByArgument {}
extension Alibaba.ServiceStatus: ExpressibleByArgument {}
extension DNSJSON.QuestionForm: ExpressibleByArgument {}
extension DNSJSON.NameForm: ExpressibleByArgument {}
