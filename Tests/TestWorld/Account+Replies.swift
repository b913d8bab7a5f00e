// SPDX-License-Identifier: Apache-2.0
import HTTPDNS
package import Net

extension Account {
    package func step(
        to request: HTTPRequest,
        _ zone: [String: Known],
        _ fault: Fault?,
        wallSeconds: Int64
    ) throws -> Simulation.Step {
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

    private func judged(
        _ request: HTTPRequest,
        _ zone: [String: Known],
        at wallSeconds: Int64
    ) throws -> Simulation.Step {
        guard try !accepts(request, at: wallSeconds) else {
            return .reply(try answer(to: request, zone))
        }
        let body = self == .alibaba ? #"{"code":"SignatureExpired"}"# : ""
        var reply = HTTPReply(status: 403, body: [UInt8](body.utf8))
        reply.date = Self.date(wallSeconds)
        return .reply(reply)
    }

    private static func date(_ wallSeconds: Int64) -> String {
        let midnight: Int64 = 1_699_920_000
        let (day, second) = (wallSeconds - midnight).quotientAndRemainder(dividingBy: 86_400)
        let parts = [second / 3_600, second / 60 % 60, second % 60].map { number in
            number < 10 ? "0\(number)" : "\(number)"
        }
        let name = day == 0 ? "Tue, 14" : "Wed, 15"
        return "\(name) Nov 2023 \(parts.joined(separator: ":")) GMT"
    }

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
            let sealed = try Cipher(.aesCBC, key: key).seal(body, vector: vector)
            body = [UInt8](Hexadecimals.text(of: sealed).utf8)
        }
        return HTTPReply(status: 200, body: body)
    }

    private static func tencentText(_ found: [(String, Known)]) -> String {
        func family(_ addresses: [String], _ ttl: UInt32) -> String {
            addresses.isEmpty ? "0" : "\(addresses.joined(separator: ";")),\(ttl)"
        }
        return found.map { name, known in
            "\(name).:\(family(known.v4, known.ttl4))-\(family(known.v6, known.ttl6))|192.0.2.200"
        }.joined(separator: "\n")
    }

    /// Returns a reply in Alibaba's format: `{"code": "success", "data": {"answers": […]}}`.
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
