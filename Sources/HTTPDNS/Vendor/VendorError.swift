// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Reason why a vendor call gave no usable answer.
///
/// No case contains a URL, a key or a token, so every case may be shown.
package enum VendorError: Error, Hashable {
    /// 401 or 403, or an equivalent code: the account, token or signature is not accepted.
    case unauthorized(status: Int, code: VendorCode? = nil)

    /// The signature has expired or its expiry is too far ahead: one of the two clocks is wrong.
    ///
    /// `vendorSeconds` is the vendor's clock in seconds since 1970, if the body contains it.
    case wrongTime(status: Int, code: VendorCode, vendorSeconds: Int64? = nil)

    /// The vendor rejects this request, for example a bad name; every server would reject it.
    case refused(status: Int, code: VendorCode)

    /// 429: too many calls; `retryAfter` is set if the vendor sent it in seconds.
    case limited(retryAfter: Duration?)

    /// Any other status except 200, or a code that reports a failure of this server.
    case serverStatus(Int, code: VendorCode? = nil)

    /// A resolver with a JSON API failed to resolve the name.
    case responseCode(RCode)

    /// The body does not follow the vendor's grammar.
    case unreadable(UnreadableReply)

    /// The body is encrypted, but not with the configured key.
    case undecryptable

    /// The reply is about a name that was not requested.
    case wrongName

    /// No reply arrived.
    case transport(HTTPError)

    /// The name is not a host name, so it is not sent to a vendor.
    case unusableName

    /// A local cryptographic operation failed.
    case cipher(CipherError)

    /// The deadline passed before a server could be tried.
    case outOfTime

    case paused

    /// The call budget of the day is used up.
    case budget

    /// The call limit of this second is used up.
    case pace

    /// The client has reached its limit of the call budget of the day.
    case clientBudget

    /// The client has reached its limit of calls of this second.
    case clientPace

    case busy
}

/// Reason why a body cannot be read.
package enum UnreadableReply: Error, Hashable {
    /// The body has more octets than allowed.
    case tooLarge(octets: Int)

    /// An encrypted body is not hexadecimal.
    case notHexadecimal

    /// No record has addresses or states that there are none.
    case noRecord

    /// An encrypted reply lacks the requested name, TTL or client address.
    case incomplete

    /// The body is not JSON (RFC 8259), has a duplicate key or too many keys, or is nested too
    /// deep.
    case notJSON(at: Int)

    /// A member of the JSON is missing or has the wrong type.
    case member(String)
}

// MARK: - Reactions

extension VendorError {
    /// Cause of an error, which decides the reaction of the client.
    package enum Verdict: Sendable, Hashable {
        /// This server failed; another server may succeed.
        case serverFailed

        /// The account is refused; every server will refuse it.
        case accountRefused

        /// The error is local, or the request was rejected: no server is to blame.
        case notTheServer
    }

    /// Cause of this error.
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

    /// True if a retry with a corrected clock may be accepted.
    ///
    /// A 401 or 403 may be about time unless its code is known to be about the account.
    package var mayBeClockSkew: Bool {
        switch self {
        case .wrongTime: true
        case .unauthorized(_, let code): code.map { !VendorCode.accountCodes.contains($0) } ?? true
        default: false
        }
    }

    /// True if the vendor reports that this server no longer serves the account.
    ///
    /// The client then queries the scheduling service immediately, like Alibaba's Android SDK.
    package var wantsOtherServers: Bool {
        if case .serverStatus(_, code: .serviceLevelDeny?) = self { true } else { false }
    }

    /// True if only one client is refused, and others are not.
    var isOfClient: Bool { self == .clientBudget || self == .clientPace }

    /// True if the vendor may charge for the request, provided that it was sent.
    ///
    /// For a transport error, `RequestHandle.wasSent` tells if the request was sent.
    package var mayBeBilled: Bool {
        switch self {
        case .unauthorized, .wrongTime, .refused, .limited: false
        case .unusableName, .cipher, .outOfTime, .paused: false
        case .budget, .clientBudget, .pace, .clientPace, .busy: false
        case .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName, .transport: true
        }
    }

    /// Error kinds with separate counters.
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

    /// Kind under which this error is counted.
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
        case .transport(.connect): .connect
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
    /// One line for the log and for `status`.
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
        case .budget: "the call budget for today is used up"
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
        case .exhausted(let why): why
        case .tls(let why): "TLS failed: \(why)"
        case .broken(let why): "the transfer failed: \(why)"
        case .bodyTooLarge(let limit): "the reply is larger than \(limit) octets"
        case .invalidRequest(let why): "the request cannot be sent: \(why)"
        case .cancelled: "cancelled"
        }
    }
}
