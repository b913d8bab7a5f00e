// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Baidu Cloud HTTPDNS: `/v4/resolve`.
///
/// Source: Baidu Cloud document Vjwvxm96x; errors and values of `type` are from the Android SDK.
/// Unverified:
/// - An error is a `msg` with status 200.
/// - The expiry of a signature may be any time in the future.
/// - An unregistered name has no entry in `data`.
/// - The parameter `detail` adds no field to the reply.
///
/// The account has no tags, so a call with `tag` is refused.
struct Baidu: Vendor {
    var account = Account()
    static let batchNames = 10

    /// Error in a call.
    ///
    /// The raw value is the `msg` of the reply.
    enum Refusal: String, Error, CaseIterable, Sendable {
        case method = "method not allowed"
        case parameter = "param error"
        case account = "account error"
        case signature = "sign error"
        case expired = "sign expired"
        case tag = "tag not found"
    }

    func serves(_ request: Request) -> Bool { request.path == "/v4/resolve" }
    func failure(_ code: String) -> Response { Response(json: ["msg": .string(code)]) }

    func call(_ request: Request, at time: Date) -> Call {
        do throws(Refusal) {
            return try lookup(request, at: time)
        } catch {
            return Call(channel: "baidu-refused", isLookup: true) { _, _ in
                guard error != .method else { return Response(status: 405) }
                return failure(error.rawValue)
            }
        }
    }

    private func lookup(_ request: Request, at time: Date) throws(Refusal) -> Call {
        guard request.method == "GET" else { throw .method }
        guard let parameters = Parameters(request), let id = parameters.text("account_id"),
            let expiry = parameters.text("t"), let signature = parameters.text("sign"),
            (parameters.text("dn") == nil) != (parameters.text("tag") == nil),
            let asked = parameters.text("dn") ?? parameters.text("tag"),
            expiry.utf8.count == 10, expiry.isDigits, let seconds = Int(expiry)
        else { throw .parameter }
        guard id == account[.baiduID] else { throw .account }
        let honest = Digest.md5("\(asked)-\(account[.baiduSecret])-\(expiry)")
        guard Digest.areEqual(signature, honest) else { throw .signature }
        guard TimeInterval(seconds) > time.timeIntervalSince1970 else { throw .expired }
        guard parameters.text("dn") != nil else { throw .tag }

        let families: [Family] =
            switch parameters.text("type") {
            case nil, "ipv4": [.v4]
            case "ipv6": [.v6]
            case "dual_stack": [.v4, .v6]
            default: throw .parameter
            }
        let switches = ["detail", "alt_server_ip"].compactMap { parameters.text($0) }
        guard switches.allSatisfy({ $0 == "true" || $0 == "false" }) else { throw .parameter }
        let client = parameters.text("ip") ?? request.client
        guard parameters.text("ip") == nil || Address(client) != nil else { throw .parameter }
        let names = asked.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= Self.batchNames, names.allSatisfy(\.isHostName) else {
            throw .parameter
        }
        let saysServers = parameters.text("alt_server_ip") == "true"
        return Call(
            channel: "baidu",
            names: names.map(\.asKey),
            isLookup: true,
            charge: Charge(rate: .baidu, families: families, clients: [client])
        ) { zone, distortion in
            var members: [(String, JSONText)] = [
                ("msg", "ok"),
                ("data", data(names, families, client, zone, distortion)),
                ("clientip", .string(client)),
                ("timestamp", .number(Int(time.timeIntervalSince1970))),
            ]
            if saysServers {
                // The SDK switches to the first of these servers; the documents name 180.76.76.200.
                let servers = families.map { family in
                    (Self.key(family), JSONText.strings(family == .v4 ? ["180.76.76.200"] : []))
                }
                members.append(("serverip", .object(servers)))
            }
            return Response(json: .object(members))
        }
    }

    /// Each `ipv4` or `ipv6` object has the undocumented member `msg`, because the SDK needs it.
    private func data(
        _ names: [String],
        _ families: [Family],
        _ client: String,
        _ zone: Zone,
        _ distortion: Distortion
    ) -> JSONText {
        let entries = names.filter(zone.isRegistered).map { name in
            let members = families.map { family in
                let answer = zone.answer(name, family, for: Address(client))
                let entry: JSONText = [
                    "ip": .strings(distortion.addresses(answer, family)),
                    "ttl": distortion.json(ttl: answer.ttl),
                    "msg": "ok",
                ]
                return (Self.key(family), entry)
            }
            return (distortion.wrongName ?? name, JSONText.object(members))
        }
        return .object(entries)
    }

    private static func key(_ family: Family) -> String { family == .v4 ? "ipv4" : "ipv6" }
}
