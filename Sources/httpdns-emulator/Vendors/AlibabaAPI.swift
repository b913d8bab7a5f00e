// SPDX-License-Identifier: Apache-2.0
import Foundation

/// RPC interface of Alibaba: `GetResolveCountSummary` (document 30122), with signature 1.0.
///
/// Not tested with a live account. The period in the call has no effect on the counts.
struct AlibabaAPI: Vendor {
    var account = Account()
    let bill: Bill

    enum Code: String, Error {
        case invalidKey = "InvalidAccessKeyId.NotFound"
        case signature = "SignatureDoesNotMatch"
        case expired = "InvalidTimeStamp.Expired"
        case missing = "MissingParameter"
        case action = "InvalidAction.NotFound"
        var status: Int { self == .invalidKey || self == .action ? 404 : 400 }
    }

    private static let lifetime: TimeInterval = 900

    func serves(_ request: Request) -> Bool {
        request.path == "/" && request.parameters?.contains { $0.name == "Action" } ?? false
    }

    func failure(_ code: String) -> Response {
        Response(status: Code(rawValue: code)?.status ?? 400, json: ["Code": .string(code)])
    }

    func call(_ request: Request, at time: Date) -> Call {
        do throws(Code) {
            try check(request, at: time)
            return Call(channel: "alibaba-api", isLookup: false) { [bill] _, _ in
                let counts = bill.alibabaResolutions
                return Response(
                    json: [
                        "RequestId": "00000000-0000-0000-0000-000000000000",
                        "ResolveSummary": [
                            "Http": .number(counts.http), "Https": .number(counts.https),
                        ],
                    ]
                )
            }
        } catch {
            return Call(channel: "alibaba-api-refused", isLookup: false) { _, _ in
                failure(error.rawValue)
            }
        }
    }

    private func check(_ request: Request, at time: Date) throws(Code) {
        guard request.method == "GET", let parameters = Parameters(request) else { throw .missing }
        guard parameters["Action"] == "GetResolveCountSummary" else { throw .action }
        guard parameters["Version"] == "2016-02-01", parameters["SignatureMethod"] == "HMAC-SHA1",
            parameters["SignatureVersion"] == "1.0", parameters.text("SignatureNonce") != nil,
            parameters.text("Granularity") != nil, parameters.text("TimeSpan")?.isDigits == true,
            let timestamp = parameters.text("Timestamp"),
            let signature = parameters.text("Signature")
        else { throw .missing }
        guard parameters["AccessKeyId"] == account[.alibabaAccessKeyID] else { throw .invalidKey }
        let canonical = parameters.sorted { $0 != "Signature" }
            .map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&")
        let honest = Digest.hmacSHA1Base64(
            "GET&%2F&" + Self.escaped(canonical),
            key: [UInt8]((account[.alibabaAccessKeySecret] + "&").utf8)
        )
        guard Digest.areEqual(signature, honest) else { throw .signature }
        guard let sent = try? Date(timestamp, strategy: .iso8601),
            abs(sent.timeIntervalSince(time)) <= Self.lifetime
        else { throw .expired }
    }

    private static func escaped(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
        )
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}
