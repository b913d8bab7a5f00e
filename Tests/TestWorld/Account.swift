// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
package import Net

package struct Known: Sendable {
    package var v4: [String]
    package var v6: [String]
    package var ttl4: UInt32
    package var ttl6: UInt32

    package init(v4: [String] = [], v6: [String] = [], ttl4: UInt32 = 60, ttl6: UInt32 = 120) {
        self.v4 = v4
        self.v6 = v6
        self.ttl4 = ttl4
        self.ttl6 = ttl6
    }
}

package enum Fault: Sendable {
    /// If `onOldConnection` is true, only requests on reused connections get no reply.
    case silent(onOldConnection: Bool = false)

    case slow(Duration)

    case broken(HTTPError, after: Duration = .zero)

    case status(Int, retryAfter: String? = nil)

    case says(String)

    case otherKey

    case otherName

    /// The server replies with status 401 to requests without an expiry time.
    case wantsExpiry

    /// The vendor's clock is ahead of the local clock, and the vendor rejects requests that were
    /// signed with the local time.
    case ahead(seconds: Int64)
}

/// Simulated vendor account.
///
/// The servers of the first account have addresses from 192.0.2.11 on; the servers of the second
/// account have addresses from 192.0.2.21 on.
package enum Account: String, Sendable, CaseIterable {
    case tencent

    /// Tencent over HTTP, encrypted with AES, with an expiry time in each request.
    case sealed

    case alibaba

    case json

    package func vendor() throws -> any Vendor {
        switch self {
        case .tencent: try Tencent(token: Secret("987654321"), id: 12345)
        case .sealed:
            try Tencent(key: Self.aesKey, id: 12345, algorithm: .aes, expires: true)
        case .alibaba: try Alibaba(account: "100000", secret: Secret(Self.secret))
        case .json: try DNSJSON(url: "https://dns.example.net/resolve")
        }
    }

    static let aesKey = Secret("1234567890123456")
    static let otherKey = Secret("6543210987654321")
    private static let secret = String(repeating: "0f", count: 16)

    package var base: Int { 10 * ((Self.allCases.firstIndex(of: self) ?? 0) + 1) }

    package func servers(_ count: Int) throws -> [SocketAddress] {
        try (1...count).map { number in
            let text = "192.0.2.\(base + number):\(self == .sealed ? 80 : 443)"
            guard let address = SocketAddress(text) else {
                throw FixtureError("\(text): no address")
            }
            return address
        }
    }
}

extension Account {
    func parameters(of request: HTTPRequest) -> [String: String] {
        let query = request.url.split(separator: "?").last ?? ""
        return Dictionary(
            query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), String(parts.count > 1 ? parts[1] : ""))
            }
        ) { first, _ in first }
    }

    func question(of request: HTTPRequest) throws -> (names: [String], expiry: Int64?) {
        let parameters = parameters(of: request)
        var list = parameters[self == .json ? "name" : "dn"] ?? ""
        var expiry = parameters["exp"].flatMap { Int64($0) }
        if self == .sealed {
            let octets = try Cipher(.aesCBC, key: Self.aesKey).open(Hexadecimals.read(list))
            list = String(decoding: octets, as: UTF8.self)
        }
        let parts = list.split(separator: ";")
        if parts.count > 1 {
            list = String(parts[0])
            expiry = Int64(parts[1])
        }
        return (list.split(separator: ",").map(String.init), expiry)
    }

    package func names(in request: HTTPRequest) throws -> [String] {
        try question(of: request).names
    }

    func accepts(_ request: HTTPRequest, at wallSeconds: Int64) throws -> Bool {
        if let expiry = try question(of: request).expiry {
            guard (wallSeconds...wallSeconds + 900).contains(expiry) else { return false }
        }
        guard self == .alibaba else { return true }
        var parameters = parameters(of: request)
        let signature = parameters.removeValue(forKey: "s")
        let content = parameters.sorted { $0.key < $1.key }
            .map { "\($0.key)=\($0.value)" }
            .joined(separator: "&")
        return try signature
            == Hexadecimals.text(of: HMAC.sha256(key: Hexadecimals.read(Self.secret), content))
    }
}

extension Account {
    package func summary(of request: HTTPRequest) throws -> String {
        let names = try names(in: request).joined(separator: ",")
        guard self == .json else { return names }
        return "\(names) \(parameters(of: request)["type"] ?? "A")"
    }
}
