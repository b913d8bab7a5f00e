// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// Vendor's count of resolutions in the current month.
package struct ResolveCount: Sendable, Hashable {
    package let http: UInt64

    package let https: UInt64
}

/// Alibaba's RPC call `GetResolveCountSummary` (Alibaba Cloud document 30122).
///
/// The parameters and the reply were not tested with a live account.
package struct AlibabaResolveCount: Sendable, Equatable {
    package static let host = "httpdns-api.aliyuncs.com"

    private let keyID: Secret
    private let keySecret: Secret

    package init(keyID: Secret, keySecret: Secret) {
        self.keyID = keyID
        self.keySecret = keySecret
    }

    package func request(
        at server: SocketAddress,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        let query = try query(
            [
                ("Action", "GetResolveCountSummary"), ("Format", "JSON"),
                ("Granularity", "month"), ("TimeSpan", "1"), ("Version", "2016-02-01"),
            ],
            at: Self.timestamp(wallSeconds),
            nonce: try entropy.octets(16).hexadecimal
        )
        return HTTPRequest(url: "https://\(Self.host)/?\(query)", server: server)
    }

    func query(
        _ parameters: [(name: String, value: String)],
        at timestamp: String,
        nonce: String
    ) throws(VendorError) -> String {
        var all = parameters.map { ($0.name, $0.value) }
        all.append(("AccessKeyId", String(decoding: keyID.copy, as: Unicode.UTF8.self)))
        all.append(("SignatureMethod", "HMAC-SHA1"))
        all.append(("SignatureNonce", nonce))
        all.append(("SignatureVersion", "1.0"))
        all.append(("Timestamp", timestamp))
        let text = all.sorted { $0.0 < $1.0 }
            .map { "\(Self.escaped($0.0))=\(Self.escaped($0.1))" }.joined(separator: "&")
        var key = keySecret.copy + [UInt8(ascii: "&")]
        let signature = try Digest.hmacSHA1(
            key: Secret(wiping: &key),
            [UInt8]("GET&%2F&\(Self.escaped(text))".utf8)
        )
        return text + "&Signature=" + Self.escaped(signature.base64)
    }

    package func count(in reply: HTTPReply) throws(VendorError) -> ResolveCount {
        if reply.status != 200, let code = reply.code(in: "Code") { throw reply.error(code) }
        let json = try reply.acceptedJSON()
        guard let summary = json["ResolveSummary"], summary.isObject else {
            throw .unreadable(.member("ResolveSummary"))
        }
        func number(_ name: String) throws(VendorError) -> UInt64 {
            guard let value = summary[name] else { return 0 }
            guard let number = value.number ?? value.text.flatMap({ Int64($0) }), number >= 0 else {
                throw .unreadable(.member(name))
            }
            return UInt64(number)
        }
        guard summary["Http"] != nil || summary["Https"] != nil else {
            throw .unreadable(.member("Http"))
        }
        return ResolveCount(
            http: try number("Http") &+ number("Http6"),
            https: try number("Https") &+ number("Https6")
        )
    }
}

// MARK: - Text

extension AlibabaResolveCount {
    /// Returns `text` with percent-encoding of all but unreserved octets (RFC 3986 §2.3).
    static func escaped(_ text: String) -> String {
        var octets: [UInt8] = []
        octets.append(escaping: text, except: "-._~")
        return String(decoding: octets, as: Unicode.UTF8.self)
    }

    static func timestamp(_ wallSeconds: Int64) -> String {
        let day = UsageRecord.day(wallSeconds)
        let month = UsageRecord.month(of: day)
        var first = day
        while UsageRecord.month(of: first - 1) == month { first -= 1 }
        let second = wallSeconds - day * UsageRecord.secondsADay
        func two(_ value: Int64) -> String { (value < 10 ? "0" : "") + String(value) }
        return "\(month / 12)-\(two(month % 12 + 1))-\(two(day - first + 1))T"
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
    }
}

// MARK: - Description without secrets

extension AlibabaResolveCount: Redacted {
    package var description: String { "GetResolveCountSummary" }
}
