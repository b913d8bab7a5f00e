// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Reason for no usable answer; without URLs, keys and tokens.
package enum VendorError: Error, Hashable {
    /// 401, 403 or an equivalent code.
    case unauthorized(status: Int, code: VendorCode? = nil)

    /// Expired or too late signature; `vendorSeconds` is the vendor's time since 1970.
    case wrongTime(status: Int, code: VendorCode, vendorSeconds: Int64? = nil)

    /// Every server would reject this request.
    case refused(status: Int, code: VendorCode)

    /// 429; `Retry-After` in seconds.
    case limited(retryAfter: Duration?)

    /// Another status, or a code for a failure of this server.
    case serverStatus(Int, code: VendorCode? = nil)

    /// RCODE of a resolver with a JSON API.
    case responseCode(RCode)

    case unreadable(UnreadableReply)

    /// Not encrypted with the configured key.
    case undecryptable

    /// The reply has a name that was not requested.
    case wrongName

    /// No reply.
    case transport(HTTPError)

    /// Not a host name; not sent.
    case unusableName

    /// Local cryptographic failure.
    case cipher(CipherError)

    /// The deadline passed before the first try.
    case outOfTime

    case paused

    case budget

    case pace

    /// The client reached its limit of the budget.
    case clientBudget

    /// The client reached its limit of calls in this second.
    case clientPace

    case busy
}

/// Reason why a body cannot be read.
package enum UnreadableReply: Error, Hashable {
    case tooLarge(octets: Int)

    /// Encrypted body without hexadecimal text.
    case notHexadecimal

    /// No record with addresses or with "none".
    case noRecord

    /// Encrypted reply without a requested part.
    case incomplete

    /// Not JSON, a duplicate key, too many values, or too deep nesting.
    case notJSON(at: Int)

    /// Member that is missing or has the wrong type.
    case member(String)
}

// MARK: - Reactions

extension VendorError {
    /// Cause of an error.
    package enum Verdict: Sendable, Hashable {
        /// Another server may succeed.
        case serverFailed

        /// Every server will refuse the account.
        case accountRefused

        /// Local error, or rejected request.
        case notTheServer
    }

    /// Cause of the error.
    package var verdict: Verdict {
        switch self {
        case .unauthorized, .wrongTime: .accountRefused
        case .transport(.cancelled), .transport(.exhausted), .transport(.invalidRequest):
            .notTheServer
        case .refused, .unusableName, .cipher, .outOfTime, .paused, .budget, .clientBudget, .pace,
            .clientPace, .busy:
            .notTheServer
        case .limited, .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName,
            .transport:
            .serverFailed
        }
    }

    /// True if a corrected clock may help.
    ///
    /// A 401 or 403 may be about time, unless its code is about the account.
    package var mayBeClockSkew: Bool {
        switch self {
        case .wrongTime: true
        case .unauthorized(_, let code): code.map { !VendorCode.accountCodes.contains($0) } ?? true
        default: false
        }
    }

    /// True if this server no longer serves the account; the addresses are then refreshed.
    package var wantsOtherServers: Bool {
        if case .serverStatus(_, code: .serviceLevelDeny?) = self { true } else { false }
    }

    /// True if other clients are not refused.
    var isOfClient: Bool { self == .clientBudget || self == .clientPace }

    /// True if a sent request may be charged.
    package var mayBeBilled: Bool {
        switch self {
        case .unauthorized, .wrongTime, .refused, .limited: false
        case .unusableName, .cipher, .outOfTime, .paused: false
        case .budget, .clientBudget, .pace, .clientPace, .busy: false
        case .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName, .transport: true
        }
    }

    /// Kinds with separate counters.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case unauthorized
        case wrongTime = "wrong-time"
        case refused
        case limited
        case serverStatus = "server-status"
        case responseCode = "response-code"
        case unreadable
        case undecryptable
        case wrongName = "wrong-name"
        case timeout
        case connect
        case tls
        case broken
        case cancelled
        case paused
        case budget
        case pace
        case busy
        case ours
    }

    /// Kind of the counter.
    package var kind: Kind {
        switch self {
        case .unauthorized: .unauthorized
        case .wrongTime: .wrongTime
        case .refused: .refused
        case .limited: .limited
        case .serverStatus: .serverStatus
        case .responseCode: .responseCode
        case .unreadable, .transport(.bodyTooLarge): .unreadable
        case .undecryptable: .undecryptable
        case .wrongName: .wrongName
        case .transport(.timedOut), .outOfTime: .timeout
        case .transport(.connect), .transport(.cutOff): .connect
        case .transport(.tls): .tls
        case .transport(.broken): .broken
        case .transport(.cancelled): .cancelled
        case .paused: .paused
        case .budget, .clientBudget: .budget
        case .pace, .clientPace: .pace
        case .busy: .busy
        case .transport(.exhausted), .transport(.invalidRequest), .unusableName, .cipher: .ours
        }
    }
}

// MARK: - Text

extension VendorError: CustomStringConvertible {
    /// One line for the log and `status`.
    package var description: String {
        switch self {
        case .unauthorized(let status, let code):
            "the vendor refuses the account (\(Self.text(of: status, code)))"
        case .wrongTime(let status, let code, _):
            "the vendor's clock differs from the local clock (\(Self.text(of: status, code)))"
        case .refused(let status, let code):
            "the vendor refuses the request (\(Self.text(of: status, code)))"
        case .limited(nil): "too many calls (HTTP 429)"
        case .limited(let retryAfter?): "too many calls (HTTP 429), retry after \(retryAfter)"
        case .serverStatus(let status, let code): Self.text(of: status, code)
        case .responseCode(let code): "the resolver returned \(code)"
        case .unreadable(.tooLarge(let octets)): "the reply is too large (\(octets) octets)"
        case .unreadable(.notHexadecimal): "the reply is not hexadecimal"
        case .unreadable(.noRecord): "the reply has no readable record"
        case .unreadable(.incomplete):
            "the reply lacks the name, the TTL or the client address that was requested"
        case .unreadable(.notJSON(let offset)): "the reply is not JSON (octet \(offset))"
        case .unreadable(.member(let name)): "the reply has no usable \"\(name)\""
        case .undecryptable: "the reply cannot be decrypted with the configured key"
        case .wrongName: "the reply is about another name"
        case .transport(let error): Self.text(of: error)
        case .unusableName: "the name is not a host name"
        case .cipher(let error): error.description
        case .outOfTime: "no time left before the deadline"
        case .paused: "the operator paused this vendor"
        case .budget: "the budget is used up, or its counts are unknown"
        case .pace: "the limit of calls per second is reached"
        case .clientBudget: "the client has reached its limit of the call budget for today"
        case .clientPace: "the client has reached its limit of calls per second"
        case .busy: "too many look-ups are waiting"
        }
    }

    private static func text(of status: Int, _ code: VendorCode?) -> String {
        code.map { "HTTP \(status), \($0)" } ?? "HTTP \(status)"
    }

    private static func text(of error: HTTPError) -> String {
        switch error {
        case .timedOut: "timed out"
        case .connect(let why): "cannot connect: \(why)"
        case .cutOff: "the connection ended before the reply"
        case .exhausted(let why): why
        case .tls(let why): "TLS failed: \(why)"
        case .broken(let why): "the transfer failed: \(why)"
        case .bodyTooLarge(let limit): "the reply is larger than \(limit) octets"
        case .invalidRequest(let why): "the request cannot be sent: \(why)"
        case .cancelled: "cancelled"
        }
    }
}
