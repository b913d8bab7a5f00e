// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Volcengine (ByteDance) HTTPDNS: `/resolve`.
///
/// Volcengine documents: 6758/113991 (request), 6758/174756 (signature), 6758/174757 (response).
struct Volcengine: Vendor {
    var account = Account()
    static let batchNames = 10
    private static let emptySeconds = 60

    enum Refusal: Int, Error, Sendable {
        case forbidden = 403
        case method = 405
    }

    func serves(_ request: Request) -> Bool {
        guard request.path == "/resolve" else { return false }
        let names = request.parameters?.map(\.name) ?? []
        return names.contains("account_id") || names.contains("domain")
    }

    func failure(_ code: String) -> Response {
        Response(status: Int(code).flatMap { (200...599).contains($0) ? $0 : nil } ?? 403)
    }

    func call(_ request: Request, at time: Date) -> Call {
        do throws(Refusal) {
            return try lookup(request, at: time)
        } catch {
            return Call(channel: "volcengine-refused", isLookup: true) { _, _ in
                Response(status: error.rawValue)
            }
        }
    }

    private func lookup(_ request: Request, at time: Date) throws(Refusal) -> Call {
        guard request.method == "GET" else { throw .method }
        guard let parameters = Parameters(request), let domain = parameters.text("domain"),
            let expiry = parameters.text("timestamp"), expiry.isDigits,
            let milliseconds = Double(expiry), let signature = parameters.text("sign"),
            parameters["account_id"] == account[.volcengineID]
        else { throw .forbidden }
        // Absent parameters are hashed as empty, as in the documented example.
        let content = [
            account[.volcengineSecret], expiry, account[.volcengineID], domain,
            parameters["ip"] ?? "", parameters["type"] ?? "",
        ]
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        .joined(separator: "_")
        guard Digest.areEqual(signature, Digest.md5(content)),
            milliseconds / 1000 > time.timeIntervalSince1970
        else { throw .forbidden }

        let families: [Family] =
            switch parameters.text("type") {
            case nil: [.v4, .v6]
            case "A": [.v4]
            case "AAAA": [.v6]
            default: throw .forbidden
            }
        let client = parameters.text("ip") ?? request.client
        guard parameters.text("ip") == nil || Address(client) != nil else { throw .forbidden }
        let names = domain.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= Self.batchNames, names.allSatisfy(\.isHostName) else {
            throw .forbidden
        }
        return Call(
            channel: "volcengine",
            names: names.map(\.asKey),
            isLookup: true,
            charge: Charge(rate: .request, families: families, clients: [client])
        ) { zone, distortion in
            let answers = names.map { name in
                let found = families.map { ($0, zone.answer(name, $0, for: Address(client))) }
                let ttl = found.filter { !$0.1.addresses.isEmpty }.map(\.1.ttl).min()
                // IPv6 addresses come first, as in the example of the vendor.
                let addresses = found.reversed().flatMap { distortion.addresses($0.1, $0.0) }
                return JSONText.object([
                    ("cip", .string(client)),
                    ("host", .string(distortion.wrongName ?? name)),
                    ("ips", .strings(addresses)),
                    ("ttl", distortion.json(ttl: ttl ?? Self.emptySeconds)),
                ])
            }
            return Response(json: answers.count == 1 ? answers[0] : .array(answers))
        }
    }
}
