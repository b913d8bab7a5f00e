// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

/// What a vendor knows of a name that is registered with it.
struct Known: Sendable {
    var v4: [String] = []
    var v6: [String] = []
    var ttl4: UInt32 = 60
    var ttl6: UInt32 = 120
}

/// What is wrong with a server.
enum Fault: Sendable {
    /// Nothing comes; maybe because an old connection is dead.
    case silent(onOldConnection: Bool = false)

    /// Right answers come after so long.
    case slow(Duration)

    /// The transfer breaks.
    case broken(HTTPError, after: Duration = .zero)

    /// A status instead of an answer.
    case status(Int, retryAfter: String? = nil)

    /// A body that is no answer.
    case says(String)

    /// An answer that is sealed with somebody else's key.
    case otherKey

    /// An answer about another name.
    case otherName

    /// It says 401 to names without an expiry.
    case wantsExpiry

    /// Its clock is ahead of ours, and it refuses requests that are signed with another time.
    case ahead(seconds: Int64)
}

/// Both ends of an account with a vendor: the real codec of ours, and what servers say to it.
///
/// Each kind has its servers at 192.0.2.0/24: those of the first at .11 and .12, of the next at .21.
enum Account: String, Sendable, CaseIterable {
    /// Tencent over HTTPS, with a token.
    case tencent

    /// Tencent over HTTP, sealed with AES, and names that expire.
    case sealed

    /// Alibaba v2 over HTTPS, signed.
    case alibaba

    /// A resolver with a JSON API, one family a call.
    case json

    /// Our end.
    func vendor() throws -> any Vendor {
        switch self {
        case .tencent: try Tencent(token: Secret("987654321"), id: 12345)
        case .sealed:
            try Tencent(key: Self.aesKey, id: 12345, algorithm: .aes, expires: true)
        case .alibaba: try Alibaba(account: "100000", secret: Secret(Self.secret))
        case .json: try DNSJSON(url: "https://dns.example.net/resolve")
        }
    }

    private static let aesKey = Secret("1234567890123456")
    private static let otherKey = Secret("6543210987654321")
    private static let secret = String(repeating: "0f", count: 16)

    /// The last octet of the first server's address, less one.
    var base: Int { 10 * ((Self.allCases.firstIndex(of: self) ?? 0) + 1) }

    /// Its servers, as many as wanted.
    func servers(_ count: Int) throws -> [SocketAddress] {
        try (1...count).map { number in
            let address = "192.0.2.\(base + number):\(self == .sealed ? 80 : 443)"
            return try #require(SocketAddress(address))
        }
    }
}

// MARK: - Requests

extension Account {
    /// The parameters of a request.
    private func parameters(of request: HTTPRequest) -> [String: String] {
        let query = request.url.split(separator: "?").last ?? ""
        return Dictionary(
            query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), String(parts.count > 1 ? parts[1] : ""))
            }
        ) { first, _ in first }
    }

    /// The names that a request asks for, and until when it may be answered, if it says so.
    private func question(
        of request: HTTPRequest
    ) throws -> (names: [String], expiry: Int64?) {
        let parameters = parameters(of: request)
        var list = parameters[self == .json ? "name" : "dn"] ?? ""
        var expiry = parameters["exp"].flatMap { Int64($0) }
        if self == .sealed {
            let octets = try #require(Hexadecimal.decode([UInt8](list.utf8)[...]))
            list = String(decoding: try AES128CBC(key: Self.aesKey).open(octets), as: UTF8.self)
        }
        let parts = list.split(separator: ";")
        if parts.count > 1 {
            list = String(parts[0])
            expiry = Int64(parts[1])
        }
        return (list.split(separator: ",").map(String.init), expiry)
    }

    /// The names that a request asks for.
    func names(in request: HTTPRequest) throws -> [String] { try question(of: request).names }

    /// Whether a request's signature is the account's, and valid at that time.
    private func accepts(_ request: HTTPRequest, at wallSeconds: Int64) throws -> Bool {
        if let expiry = try question(of: request).expiry {
            guard (wallSeconds...wallSeconds + 900).contains(expiry) else { return false }
        }
        guard self == .alibaba else { return true }
        var parameters = parameters(of: request)
        let signature = parameters.removeValue(forKey: "s")
        let content = Alibaba.content(
            of: parameters.map { Alibaba.Parameter(name: $0, value: $1) }
        )
        let key = Secret(try #require(Hexadecimal.decode([UInt8](Self.secret.utf8)[...])))
        return try signature
            == Hexadecimal.encode(Digest.hmacSHA256(key: key, [UInt8](content.utf8)))
    }
}

// MARK: - Replies

extension Account {
    /// What a server does with a request.
    func step(
        to request: HTTPRequest,
        _ zone: [String: Known],
        _ fault: Fault?,
        wallSeconds: Int64
    ) throws -> World.Step {
        switch fault {
        case nil: break
        case .silent(let isOld): return .silence(reused: isOld && !request.wantsFreshConnection)
        case .broken(let error, let delay): return .fail(error, after: delay)
        case .status(let status, let retryAfter):
            var reply = HTTPReply(status: status, body: [])
            reply.retryAfter = retryAfter
            return .reply(reply)
        case .says(let text): return .reply(HTTPReply(status: 200, body: [UInt8](text.utf8)))
        case .slow(let delay):
            return .reply(try answer(to: request, zone), after: delay)
        case .wantsExpiry:
            guard try question(of: request).expiry == nil else { break }
            return .reply(HTTPReply(status: 401, body: []))
        case .otherKey:
            return .reply(try answer(to: request, zone, key: Self.otherKey))
        case .otherName:
            return .reply(try answer(to: request, zone, rename: "evil.example.net"))
        case .ahead(let seconds):
            return try judged(request, zone, at: wallSeconds + seconds)
        }
        return try judged(request, zone, at: wallSeconds)
    }

    /// The answer, or 403 and the server's time if it does not accept the request.
    private func judged(
        _ request: HTTPRequest,
        _ zone: [String: Known],
        at wallSeconds: Int64
    ) throws -> World.Step {
        guard try !accepts(request, at: wallSeconds) else {
            return .reply(try answer(to: request, zone))
        }
        let body = self == .alibaba ? #"{"code":"SignatureExpired"}"# : ""
        var reply = HTTPReply(status: 403, body: [UInt8](body.utf8))
        reply.date = Self.date(wallSeconds)
        return .reply(reply)
    }

    /// The `Date` header of the day on which tests begin, and of the one after.
    private static func date(_ wallSeconds: Int64) -> String {
        let midnight: Int64 = 1_699_920_000
        let (day, second) = (wallSeconds - midnight).quotientAndRemainder(dividingBy: 86_400)
        let parts = [second / 3_600, second / 60 % 60, second % 60].map { number in
            number < 10 ? "0\(number)" : "\(number)"
        }
        let name = day == 0 ? "Tue, 14" : "Wed, 15"
        return "\(name) Nov 2023 \(parts.joined(separator: ":")) GMT"
    }

    /// What is known of each name, in the vendor's words.
    private func answer(
        to request: HTTPRequest,
        _ zone: [String: Known],
        key: Secret = aesKey,
        rename: String? = nil
    ) throws -> HTTPReply {
        let found = try names(in: request).compactMap { name in
            zone[name].map { (rename ?? name, $0) }
        }
        let text =
            switch self {
            case .tencent, .sealed: Self.tencentText(found)
            case .alibaba: Self.alibabaText(found)
            case .json:
                Self.jsonText(
                    found.first,
                    name: try names(in: request).joined(),
                    isV6: parameters(of: request)["type"] == "AAAA"
                )
            }
        var body = [UInt8](text.utf8)
        if self == .sealed {
            let vector = [UInt8](repeating: 7, count: 16)
            let sealed = try AES128CBC(key: key).seal(body, vector: vector)
            body = [UInt8](Hexadecimal.encode(sealed).utf8)
        }
        return HTTPReply(status: 200, body: body)
    }

    /// `name.:v4;v4,ttl-v6,ttl|client`, one line a name.
    private static func tencentText(_ found: [(String, Known)]) -> String {
        func family(_ addresses: [String], _ ttl: UInt32) -> String {
            addresses.isEmpty ? "0" : "\(addresses.joined(separator: ";")),\(ttl)"
        }
        return found.map { name, known in
            "\(name).:\(family(known.v4, known.ttl4))-\(family(known.v6, known.ttl6))|192.0.2.200"
        }.joined(separator: "\n")
    }

    /// `{"code": "success", "data": {"answers": […]}}`.
    private static func alibabaText(_ found: [(String, Known)]) -> String {
        func family(_ addresses: [String], _ ttl: UInt32) -> String {
            let list = addresses.map { "\"\($0)\"" }.joined(separator: ",")
            let code = addresses.isEmpty ? #","no_ip_code":"RRNotExist""# : ""
            return #"{"ips":[\#(list)],"ttl":\#(ttl)\#(code)}"#
        }
        let answers = found.map { name, known in
            #"{"dn":"\#(name)","v4":\#(family(known.v4, known.ttl4)),"#
                + #""v6":\#(family(known.v6, known.ttl6))}"#
        }
        return #"{"code":"success","mode":0,"data":{"cip":"192.0.2.200","answers":["#
            + answers.joined(separator: ",") + "]}}"
    }

    /// `{"Status", "Question", "Answer", "Authority"}`; a name that is not known does not exist.
    private static func jsonText(_ found: (String, Known)?, name: String, isV6: Bool) -> String {
        let type = isV6 ? 28 : 1
        let asked = found?.0 ?? name
        let addresses = (isV6 ? found?.1.v6 : found?.1.v4) ?? []
        let ttl = (isV6 ? found?.1.ttl6 : found?.1.ttl4) ?? 0
        let answers = addresses.map { address in
            #"{"name":"\#(asked).","type":\#(type),"TTL":\#(ttl),"data":"\#(address)"}"#
        }
        let soa =
            #"{"name":"example.com.","type":6,"TTL":900,"#
            + #""data":"ns.example.com. admin.example.com. 1 2 3 4 30"}"#
        return #"{"Status":\#(found == nil ? 3 : 0),"TC":false,"#
            + #""Question":[{"name":"\#(asked).","type":\#(type)}],"#
            + #""Answer":[\#(answers.joined(separator: ","))],"#
            + #""Authority":[\#(answers.isEmpty ? soa : "")]}"#
    }
}
