// SPDX-License-Identifier: Apache-2.0
import Foundation

/// DNS in JSON, as served by Google, Cloudflare, AliDNS and DNSPod: `/resolve` and `/dns-query`.
///
/// Documents: "JSON API for DNS over HTTPS" (Google), "DNS over HTTPS: using JSON" (Cloudflare),
/// "DoH JSON API" 209314 (Alibaba Cloud DNS). Unverified: methods other than GET cause status 405.
struct DNSJSON: Vendor {
    var account = Account()
    var manner = Manner()

    struct Manner: Sendable, Equatable {
        var question = QuestionForm.array
        var names = NameForm.dotted
        /// True if calls without a key are refused, as AliDNS documents.
        var requiresKey = false
        var billing = Billing.request
    }

    /// Billing rule: `request` bills one unit per call, `alidns` five units per HTTPS call.
    enum Billing: String, CaseIterable, Sendable {
        case request, alidns
        var rate: Rate { self == .alidns ? .alidns : .request }
    }

    /// Form of the member `Question`: array (Google) or object (AliDNS example).
    enum QuestionForm: String, CaseIterable, Sendable {
        case array, object
    }

    /// Form of names: some Cloudflare replies lack the final dot.
    enum NameForm: String, CaseIterable, Sendable {
        case dotted, bare
    }

    enum Refusal: Error {
        case method
        case malformed(String)
        /// Status 403, with the `code` of AliDNS.
        case key(String)
    }

    /// Maximum difference, in seconds, between `ts` and the clock.
    static let signatureSeconds = 600

    struct Question: Sendable {
        var name: String
        var type: Int
        /// Flag CD; the emulator only copies this flag to the reply.
        var checkingDisabled = false
        var subnet: String?
        var client: String
        var isShort = false
        var contentType: String

        var families: [Family] {
            switch type {
            case 1: [.v4]
            case 28: [.v6]
            case 255: [.v4, .v6]
            default: []
            }
        }
    }

    // MARK: - Calls

    func serves(_ request: Request) -> Bool {
        request.path == "/resolve" || request.path == "/dns-query"
    }

    func call(_ request: Request, at time: Date) -> Call {
        do throws(Refusal) {
            guard request.method == "GET" else { throw .method }
            let parameters = try Self.parameters(request)
            let question = try question(parameters, request)
            let isSigned = try checkKey(parameters, question.name, at: time)
            let channel = request.path == "/resolve" ? "json-resolve" : "json-dns-query"
            return Call(
                channel: isSigned ? "json-alidns" : channel,
                names: [question.name.asKey],
                isLookup: true,
                charge: Charge(
                    rate: manner.billing.rate,
                    families: question.families,
                    clients: [question.client]
                )
            ) { zone, distortion in
                Response(json: answer(question, zone, distortion), type: question.contentType)
            }
        } catch {
            return Call(channel: "json-refused", isLookup: true) { _, _ in
                switch error {
                case .method: Response(status: 405)
                case .malformed(let why): Response(status: 400, json: ["error": .string(why)])
                case .key(let code): Response(status: 403, json: ["code": .string(code)])
                }
            }
        }
    }

    func failure(_ code: String) -> Response {
        guard let rcode = Int(code) ?? Self.rcodes.firstIndex(of: code.uppercased()) else {
            return Response(status: 403, json: ["code": .string(code)])
        }
        return Response(json: .object(Self.flags(rcode, false) + [("Question", .array([]))]))
    }

    // MARK: - Reading

    /// If a parameter is repeated, the first value applies, as at Google.
    private static func parameters(_ request: Request) throws(Refusal) -> Parameters {
        guard let all = request.parameters else { throw .malformed("invalid percent-encoding") }
        return Parameters(
            Dictionary(all.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        )
    }

    private func question(
        _ parameters: Parameters,
        _ request: Request
    ) throws(Refusal) -> Question {
        let media = (request.headers["accept"] ?? "") + "," + (parameters["ct"] ?? "")
        let isQuery = request.path == "/dns-query"
        guard !isQuery || media.contains("application/dns-json") else {
            throw .malformed("/dns-query needs Accept: application/dns-json")
        }
        guard parameters["ct"] != "application/dns-message" else {
            throw .malformed("DNS messages are not supported")
        }
        guard let name = parameters.text("name"), name == "." || name.asKey.isHostName else {
            throw .malformed("bad name")
        }
        guard let type = Self.type(parameters["type"] ?? "1") else { throw .malformed("bad type") }
        _ = try Self.flag(parameters["do"])
        var question = Question(
            name: name,
            type: type,
            checkingDisabled: try Self.flag(parameters["cd"]),
            client: request.client,
            isShort: !isQuery ? try Self.flag(parameters["short"]) : false,
            contentType: isQuery ? "application/dns-json" : "application/json; charset=UTF-8"
        )
        if let subnet = parameters.text("edns_client_subnet") {
            let address = String(subnet.prefix { $0 != "/" })
            guard Address(address) != nil, subnet == address || Subnet(subnet) != nil else {
                throw .malformed("bad edns_client_subnet")
            }
            (question.subnet, question.client) = (subnet, address)
        }
        return question
    }

    private static func flag(_ value: String?) throws(Refusal) -> Bool {
        switch value?.lowercased() {
        case nil, "", "0", "false": return false
        case "1", "true": return true
        default: throw .malformed("a flag must be 0 or 1")
        }
    }

    /// Checks the signature; returns false for an unsigned call.
    ///
    /// Throws if a key is required and the call is unsigned.
    private func checkKey(
        _ parameters: Parameters,
        _ name: String,
        at time: Date
    ) throws(Refusal) -> Bool {
        guard
            manner.requiresKey
                || ["uid", "ak", "key", "ts"].contains(where: { parameters[$0] != nil })
        else { return false }
        guard let uid = parameters.text("uid"), let key = parameters.text("key"),
            let ak = parameters.text("ak"), let ts = parameters.text("ts"),
            ts.isDigits, let seconds = Double(ts)
        else { throw .key("MissingParameter") }
        guard uid == account[.alidnsUID], ak == account[.alidnsKey] else {
            throw .key("InvalidAccount")
        }
        let honest = Digest.sha256(uid + account[.alidnsSecret] + ts + name + ak)
        guard Digest.areEqual(key, honest) else { throw .key("SignatureDoesNotMatch") }
        guard abs(seconds - time.timeIntervalSince1970) <= Double(Self.signatureSeconds) else {
            throw .key("SignatureExpired")
        }
        return true
    }
}
