// SPDX-License-Identifier: Apache-2.0
import Foundation

/// DNS in JSON, as Google, Cloudflare, AliDNS and DNSPod speak it: `/resolve` and `/dns-query`.
///
/// Written from "JSON API for DNS over HTTPS" (Google), "DNS over HTTPS: using JSON" (Cloudflare)
/// and "DoH JSON API" 209314 (Alibaba Cloud DNS).  Unlike the vendors of HTTPDNS these resolve any
/// name, so what the zone does not have is NXDOMAIN.  Chosen here, unverified: a wrong AliDNS key
/// is 403 with a `code`, `key` is SHA-256 over uid, secret, ts, name and ak, and `ts` may be 600 s
/// off; methods other than GET are 405.
struct DNSJSON: Vendor {
    /// AliDNS's account; the others have none.
    var account = Account()

    /// Where the servers differ.
    var manner = Manner()

    /// The choices an operator has.
    struct Manner: Sendable, Equatable {
        /// How `Question` is written.
        var question = QuestionForm.array
        /// How names are written.
        var names = NameForm.dotted
        /// Whether a call must be signed as AliDNS's current document demands.
        var requiresKey = false
    }

    /// `Question` is an array at Google's, and an object in AliDNS's published example.
    enum QuestionForm: String, CaseIterable, Sendable {
        case array, object
    }

    /// Whether names end in a dot; some of Cloudflare's servers leave it out.
    enum NameForm: String, CaseIterable, Sendable {
        case dotted, bare
    }

    /// Why a request is not answered.
    enum Refusal: Error {
        /// 405.
        case method
        /// 400, with what is wrong.
        case malformed(String)
        /// 403, with AliDNS's `code`.
        case key(String)
    }

    /// Seconds `ts` may differ from the clock.
    static let signatureSeconds = 600

    /// What a request asks.
    struct Question: Sendable {
        /// The name as asked.
        var name: String
        /// The record type, 1-65535.
        var type: Int
        /// Whether validation is off, which is only echoed.
        var checkingDisabled = false
        /// The `edns_client_subnet` as asked, if any, and whom the answer is for.
        var subnet: String?
        /// The client's address.
        var client: String
        /// Whether the answer is a bare array of addresses (AliDNS).
        var isShort = false
        /// The content type of the answer.
        var contentType: String
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
                isLookup: true
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

    /// An RCODE by name or number as `Status`; any other code as AliDNS writes errors.
    func failure(_ code: String) -> Response {
        guard let rcode = Int(code) ?? Self.rcodes.firstIndex(of: code.uppercased()) else {
            return Response(status: 403, json: ["code": .string(code)])
        }
        return Response(json: .object(Self.flags(rcode, false) + [("Question", .array([]))]))
    }

    // MARK: - Reading

    /// The first of each parameter counts (Google).
    private static func parameters(_ request: Request) throws(Refusal) -> Parameters {
        guard let all = request.parameters else { throw .malformed("percent-encoding") }
        return Parameters(
            Dictionary(all.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        )
    }

    /// Reads everything but the signature.
    private func question(
        _ parameters: Parameters,
        _ request: Request
    ) throws(Refusal) -> Question {
        let media = (request.headers["accept"] ?? "") + "," + (parameters["ct"] ?? "")
        let isQuery = request.path == "/dns-query"
        guard !isQuery || media.contains("application/dns-json") else {
            throw .malformed("dns-query without Accept: application/dns-json is a DNS message")
        }
        guard parameters["ct"] != "application/dns-message" else {
            throw .malformed("this server has no DNS messages")
        }
        guard let name = parameters.text("name"), name == "." || name.asKey.isHostName else {
            throw .malformed("name")
        }
        guard let type = Self.type(parameters["type"] ?? "1") else { throw .malformed("type") }
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
                throw .malformed("edns_client_subnet")
            }
            (question.subnet, question.client) = (subnet, address)
        }
        return question
    }

    /// A switch: `1` and `true` are on; `0`, `false` and absence are off.
    private static func flag(_ value: String?) throws(Refusal) -> Bool {
        switch value?.lowercased() {
        case nil, "", "0", "false": return false
        case "1", "true": return true
        default: throw .malformed("a switch is neither 0 nor 1")
        }
    }

    /// Whether it is signed as AliDNS demands, and then well.
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
