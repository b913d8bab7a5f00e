// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

struct TencentOptions: ParsableArguments {
    @Option(
        help: .init(
            "Append |CLIENT-ADDRESS to the last or every line of the reply to a batch.",
            valueName: "which"
        )
    )
    var clientIpLines = Tencent.ClientLines.last

    @Option(
        help: .init(
            """
            Reply text for an address family without addresses: '0' (zero), '0,0' (zero-ttl), \
            '' (empty) or ',0' (empty-ttl).
            """,
            valueName: "form"
        )
    )
    var missingFamily = Tencent.MissingFamily.zero

    @Option(
        help: .init(
            "HTTP status of the reply to a wrong account; this reply has no content.",
            valueName: "code"
        )
    )
    var refusal = 401

    @Flag(help: "Refuse lookups if the parameter dn has no expiry time (';TIME').")
    var requireExpiry = false

    @Flag(help: "Refuse lookups if dn has an expiry time (';TIME').")
    var refuseExpiry = false

    @Option(
        help: .init(
            "Servers in the reply to /conf, comma-separated. (default: the emulator's address)",
            valueName: "addresses"
        )
    )
    var confServers: String?

    @Option(
        help: .init(
            "Validity of the servers in the reply to /conf, 1-1440 minutes.",
            valueName: "minutes"
        )
    )
    var confTtl = 60

    func manner(at own: Endpoint) throws -> Tencent.Manner {
        guard (200...599).contains(refusal) else {
            throw ValidationError("--refusal: \(refusal) is not a status code")
        }
        guard !requireExpiry || !refuseExpiry else {
            throw ValidationError("--require-expiry and --refuse-expiry are mutually exclusive")
        }
        guard (1...1440).contains(confTtl) else {
            throw ValidationError("--conf-ttl: \(confTtl) is not in 1-1440")
        }
        let addresses = confServers?.split(separator: ",").map(String.init)
        if let wrong = addresses?.first(where: { Address($0)?.family != .v4 }) {
            throw ValidationError("--conf-servers: '\(wrong)' is not an IPv4 address")
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

struct AlibabaOptions: ParsableArguments {
    @Flag(help: "Refuse unsigned lookups (UnsignedInterfaceDisabled).")
    var requireSignature = false

    @Flag(help: "Refuse sdns- parameters (SdnsNotSupported), as servers outside China do.")
    var noSdns = false

    @Option(
        help: .init(
            "Servers in the reply to /ss: ADDR[:PORT],... (default: the emulator's address)",
            valueName: "list"
        )
    )
    var ssServers: String?

    @Option(help: .init("Value of service_status in the reply to /ss.", valueName: "status"))
    var ssStatus: Alibaba.ServiceStatus?

    @Option(
        help: .init(
            "Value of no_ip_code for names that are not in the zone; '' omits the field.",
            valueName: "code"
        )
    )
    var unlistedCode = "DomainNotExist"

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

struct DNSJSONOptions: ParsableArguments {
    @Option(
        help: .init("Type of the field Question; AliDNS documents an object.", valueName: "form")
    )
    var jsonQuestion = DNSJSON.QuestionForm.array

    @Option(
        help: .init("Names in replies have a final dot (dotted) or none (bare).", valueName: "form")
    )
    var jsonNames = DNSJSON.NameForm.dotted

    @Flag(help: "Refuse calls without the parameters uid, ak, key and ts of AliDNS.")
    var jsonRequireKey = false

    @Option(
        help: .init(
            "Units per call: always 1 (request), or 5 over HTTPS (alidns).",
            valueName: "rule"
        )
    )
    var jsonBilling = DNSJSON.Billing.request

    var manner: DNSJSON.Manner {
        .init(
            question: jsonQuestion,
            names: jsonNames,
            requiresKey: jsonRequireKey,
            billing: jsonBilling
        )
    }
}

extension Tencent.ClientLines: ExpressibleByArgument {}
extension Tencent.MissingFamily: ExpressibleByArgument {}
extension Alibaba.ServiceStatus: ExpressibleByArgument {}
extension DNSJSON.QuestionForm: ExpressibleByArgument {}
extension DNSJSON.NameForm: ExpressibleByArgument {}
extension DNSJSON.Billing: ExpressibleByArgument {}
