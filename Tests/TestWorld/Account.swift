// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
package import Net

/// What a vendor knows of a name that is registered with it.
package struct Known: Sendable {
    package var v4: [String]
    package var v6: [String]
    package var ttl4: UInt32
    package var ttl6: UInt32

    package init(
        v4: [String] = [],
        v6: [String] = [],
        ttl4: UInt32 = 60,
        ttl6: UInt32 = 120
    ) {
        self.v4 = v4
        self.v6 = v6
        self.ttl4 = ttl4
        self.ttl6 = ttl6
    }
}

/// What is wrong with a server.
package enum Fault: Sendable {
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
package enum Account: String, Sendable, CaseIterable {
    /// Tencent over HTTPS, with a token.
    case tencent

    /// Tencent over HTTP, sealed with AES, and names that expire.
    case sealed

    /// Alibaba v2 over HTTPS, signed.
    case alibaba

    /// A resolver with a JSON API, one family a call.
    case json

    /// Our end.
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

    /// The last octet of the first server's address, less one.
    package var base: Int { 10 * ((Self.allCases.firstIndex(of: self) ?? 0) + 1) }

    /// Its servers, as many as wanted.
    package func servers(_ count: Int) throws -> [SocketAddress] {
        try (1...count).map { number in
            let text = "192.0.2.\(base + number):\(self == .sealed ? 80 : 443)"
            guard let address = SocketAddress(text) else { throw BadScene("\(text) is no address") }
            return address
        }
    }
}

// MARK: - Requests

extension Account {
    /// The parameters of a request.
    func parameters(of request: HTTPRequest) -> [String: String] {
        let query = request.url.split(separator: "?").last ?? ""
        return Dictionary(
            query.split(separator: "&").map { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return (String(parts[0]), String(parts.count > 1 ? parts[1] : ""))
            }
        ) { first, _ in first }
    }

    /// The names that a request asks for, and until when it may be answered, if it says so.
    func question(
        of request: HTTPRequest
    ) throws -> (names: [String], expiry: Int64?) {
        let parameters = parameters(of: request)
        var list = parameters[self == .json ? "name" : "dn"] ?? ""
        var expiry = parameters["exp"].flatMap { Int64($0) }
        if self == .sealed {
            let octets = try AES128CBC(key: Self.aesKey).open(Hexadecimals.read(list))
            list = String(decoding: octets, as: UTF8.self)
        }
        let parts = list.split(separator: ";")
        if parts.count > 1 {
            list = String(parts[0])
            expiry = Int64(parts[1])
        }
        return (list.split(separator: ",").map(String.init), expiry)
    }

    /// The names that a request asks for.
    package func names(in request: HTTPRequest) throws -> [String] {
        try question(of: request).names
    }

    /// Whether a request's signature is the account's, and valid at that time.
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
            == Hexadecimals.text(
                of: HMAC.sha256(key: Hexadecimals.read(Self.secret), content)
            )
    }
}

extension Account {
    /// What a request asks for, in words: its names, and the type if it is for one family.
    package func summary(of request: HTTPRequest) throws -> String {
        let names = try names(in: request).joined(separator: ",")
        guard self == .json else { return names }
        return "\(names) \(parameters(of: request)["type"] ?? "A")"
    }
}
