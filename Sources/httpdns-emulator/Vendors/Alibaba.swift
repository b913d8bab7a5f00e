// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Alibaba Cloud EMAS HTTPDNS: `/v2/d`, the older `/{account}/d` and its variants, and `ss`.
///
/// Alibaba Cloud documents: 2978980 (v2), 52679 and 2868210 (v1), 56810 (v1 signature), 111585
/// (`ss`). Unverified: for a signature that is both wrong and expired, the emulator returns the
/// error for a wrong signature.
struct Alibaba: Vendor {
    var account = Account()
    var manner = Manner()

    /// Behaviour that the documents do not specify.
    struct Manner: Sendable, Equatable {
        var requiresSignature = false
        var hasSDNS = true
        var servers: [Server] = []
        /// Value of `service_status` in the reply to `ss`; the Android SDK obeys this value.
        var status: ServiceStatus?
        /// Value of `no_ip_code` for unregistered names in v2; if empty, the field is omitted.
        var unlistedCode = "DomainNotExist"
    }

    enum ServiceStatus: String, CaseIterable, Sendable {
        case enable, disable
    }

    enum Code: String, Error, CaseIterable, Sendable {
        case missingArgument = "MissingArgument"
        case invalidHost = "InvalidHost"
        case tooManyHosts = "TooManyHosts"
        case limitExceeded = "LimitExceeded"
        case sdnsNotSupported = "SdnsNotSupported"
        case invalidAccount = "InvalidAccount"
        case accountNotExists = "AccountNotExists"
        case unsignedInterfaceDisabled = "UnsignedInterfaceDisabled"
        case invalidSignature = "InvalidSignature"
        case signatureExpired = "SignatureExpired"
        case invalidDuration = "InvalidDuration"
        case serviceLevelDeny = "ServiceLevelDeny"
        case methodNotAllowed = "MethodNotAllowed"
        case internalError = "InternalError"

        var status: Int {
            switch self {
            case .missingArgument, .invalidHost, .tooManyHosts, .limitExceeded, .sdnsNotSupported:
                400
            case .invalidAccount, .accountNotExists, .unsignedInterfaceDisabled,
                .invalidSignature, .signatureExpired, .invalidDuration, .serviceLevelDeny:
                403
            case .methodNotAllowed: 405
            case .internalError: 500
            }
        }
    }

    static let batchNames = 5

    /// Maximum validity of a signature (Alibaba Cloud document 56810).
    static let signatureSeconds = 86_400

    static let sdnsOctets = 1000

    // MARK: - Calls

    func serves(_ request: Request) -> Bool {
        request.path == "/v2/d" || Self.parts(request.path) != nil
    }

    func failure(_ code: String) -> Response {
        Response(status: Code(rawValue: code)?.status ?? 403, json: ["code": .string(code)])
    }

    func call(_ request: Request, at time: Date) -> Call {
        let parts = Self.parts(request.path)
        do throws(Code) {
            guard request.method == "GET" else { throw .methodNotAllowed }
            guard let parameters = Parameters(request) else { throw .missingArgument }
            guard let parts else { return try v2(parameters, request.client, at: time) }
            guard parts.account == account[.alibabaID] else { throw .accountNotExists }
            guard parts.interface != "ss" else { return try schedule(parameters, at: time) }
            return try v1(String(parts.interface), parameters, request.client, at: time)
        } catch {
            return Call(channel: "alibaba-refused", isLookup: parts?.interface != "ss") { _, _ in
                failure(error.rawValue)
            }
        }
    }

    private static func parts(_ path: String) -> (account: Substring, interface: Substring)? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[1].isDigits,
            ["d", "sign_d", "resolve", "sign_resolve", "ss"].contains(parts[2])
        else { return nil }
        return (parts[1], parts[2])
    }

    // MARK: - Parameters of both generations

    struct Question: Sendable {
        var names: [String]
        var families: [Family]
        var clients: [String]
        var extra: String?

        func charge(_ rate: Rate) -> Charge {
            Charge(rate: rate, families: families, clients: clients)
        }
    }

    func question(
        _ parameters: Parameters,
        names: String,
        families: String,
        client: String,
        peer: String
    ) throws(Code) -> Question {
        guard let hosts = parameters.text(names) else { throw .missingArgument }
        let list = hosts.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard list.allSatisfy({ $0.isHostName && !$0.contains("_") }) else { throw .invalidHost }
        let clients = parameters.text(client)?.split(separator: ",").map(String.init) ?? [peer]
        guard clients.count <= Self.batchNames, clients.count == 1 || list.count == 1 else {
            throw .limitExceeded
        }
        guard parameters.text(client) == nil || clients.allSatisfy({ Address($0) != nil }) else {
            throw .missingArgument
        }
        let asked: [Family] =
            switch parameters.text(families) {
            case nil, "4": [.v4]
            case "6": [.v6]
            case "4,6": [.v4, .v6]
            default: throw .missingArgument
            }
        return Question(
            names: list,
            families: asked,
            clients: clients,
            extra: try extra(parameters)
        )
    }

    private func extra(_ parameters: Parameters) throws(Code) -> String? {
        let custom = parameters.sorted { $0.hasPrefix("sdns-") }
        guard !custom.isEmpty else { return nil }
        guard manner.hasSDNS else { throw .sdnsNotSupported }
        let octets = custom.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard octets <= Self.sdnsOctets,
            custom.allSatisfy({ name, value in
                name.utf8.count > 5
                    && name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F }
                    && value.utf8.allSatisfy {
                        $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F || $0 == 0x3D
                    }
            })
        else { throw .missingArgument }
        return JSONText.object(custom.map { ($0.name, .string($0.value)) }).text
    }

    func check(_ signature: String, _ honest: String, _ expiry: String, at time: Date) throws(Code)
    {
        guard Digest.areEqual(signature, honest) else { throw .invalidSignature }
        guard expiry.isDigits, let seconds = Int(expiry) else { throw .missingArgument }
        let left = TimeInterval(seconds) - time.timeIntervalSince1970
        guard left > 0 else { throw .signatureExpired }
        guard left <= TimeInterval(Self.signatureSeconds) else { throw .invalidDuration }
    }
}
