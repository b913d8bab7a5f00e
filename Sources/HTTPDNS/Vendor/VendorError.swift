// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Reason for a missing or unusable answer; never contains URLs, keys or tokens.
package enum VendorError: Error, Hashable {
    /// HTTP status 401 or 403, or an equivalent vendor code.
    case unauthorized(status: Int, code: VendorCode? = nil)

    /// `vendorSeconds` is the Unix time by the vendor's clock.
    case wrongTime(status: Int, code: VendorCode, vendorSeconds: Int64? = nil)

    /// The server rejects the request, for example because of a parameter; perhaps all servers do.
    case refused(status: Int, code: VendorCode)

    case limited(retryAfter: Duration?)

    /// HTTP status that no other case covers, or a vendor code for a failed server.
    case serverStatus(Int, code: VendorCode? = nil)

    case responseCode(RCode)

    case unreadable(UnreadableReply)

    case undecryptable

    case wrongName

    case transport(HTTPError)

    case unusableName

    case cipher(CipherError)

    case outOfTime

    case paused

    case budget

    case pace

    case clientBudget

    case clientPace

    case busy

    case clientBusy
}

package enum UnreadableReply: Error, Hashable {
    case tooLarge(octets: Int)

    case notHexadecimal

    case noRecord

    case incomplete

    /// The text is not JSON, has a duplicate key or too many values, or is nested too deeply.
    case notJSON(at: Int)

    case member(String)
}

// MARK: - Reactions

extension VendorError {
    package enum Verdict: Sendable, Hashable {
        case serverFailed

        /// Another server may accept the account.
        case accountRefused

        /// The cause is this machine or the request; another server would not help.
        case notTheServer
    }

    package var verdict: Verdict {
        switch self {
        case .unauthorized, .wrongTime: .accountRefused
        case .transport(.cancelled), .transport(.exhausted), .transport(.invalidRequest):
            .notTheServer
        case .unusableName, .cipher, .outOfTime, .paused, .budget, .clientBudget, .pace,
            .clientPace, .busy, .clientBusy:
            .notTheServer
        case .limited, .refused, .serverStatus, .responseCode, .unreadable, .undecryptable,
            .wrongName,
            .transport:
            .serverFailed
        }
    }

    /// True for a reply with status 200 that has no answer to the call.
    var isUseless: Bool {
        switch self {
        case .unreadable, .undecryptable, .wrongName: true
        default: false
        }
    }

    /// True if possibly only one of several hosts behind the server's address causes the error.
    ///
    /// False for an error that a client can cause with the name that it queries.
    var mayBeOfOneHost: Bool {
        switch self {
        case .serverStatus, .unauthorized, .unreadable, .undecryptable, .transport(.broken): true
        default: false
        }
    }

    /// True if a host behind the server's address or the queried name can cause the error.
    var mayBeOfHostOrName: Bool {
        switch self {
        case .responseCode, .limited, .wrongName, .transport(.bodyTooLarge): true
        default: false
        }
    }

    package var mayBeClockSkew: Bool {
        switch self {
        case .wrongTime: true
        case .unauthorized(_, let code): code.map { !VendorCode.accountCodes.contains($0) } ?? true
        default: false
        }
    }

    /// True if the server no longer serves the account; the server addresses must be refreshed.
    package var wantsOtherServers: Bool {
        if case .serverStatus(_, code: .serviceLevelDeny?) = self { true } else { false }
    }

    package var isOfClient: Bool {
        self == .clientBudget || self == .clientPace || self == .clientBusy
    }

    package var mayBeBilled: Bool {
        switch self {
        case .unauthorized, .wrongTime, .refused, .limited: false
        case .unusableName, .cipher, .outOfTime, .paused: false
        case .budget, .clientBudget, .pace, .clientPace, .busy, .clientBusy: false
        case .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName, .transport: true
        }
    }

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
        case .busy, .clientBusy: .busy
        case .transport(.exhausted), .transport(.invalidRequest), .unusableName, .cipher: .ours
        }
    }
}

// MARK: - Text

extension VendorError: CustomStringConvertible {
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
            "the reply lacks a requested part: the name, the TTL or the client address"
        case .unreadable(.notJSON(let offset)): "the reply is not JSON (octet \(offset))"
        case .unreadable(.member(let name)):
            "the member \"\(name)\" of the reply is missing or invalid"
        case .undecryptable: "the reply cannot be decrypted with the configured key"
        case .wrongName: "the reply is about another name"
        case .transport(let error): Self.text(of: error)
        case .unusableName: "the name is not a host name"
        case .cipher(let error): error.description
        case .outOfTime: "no time left before the deadline"
        case .paused: "the operator paused this vendor"
        case .budget: "the budget is used up, or its counts are unknown"
        case .pace: "the limit of calls per second is reached"
        case .clientBudget: "the client has used its part of the budget"
        case .clientPace: "the client has reached its limit of calls per second"
        case .busy: "the limit of concurrent calls is reached, or too many lookups are waiting"
        case .clientBusy: "the client has reached its limit of calls or of waiting lookups"
        }
    }

    private static func text(of status: Int, _ code: VendorCode?) -> String {
        code.map { "HTTP \(status), \($0)" } ?? "HTTP \(status)"
    }

    private static func text(of error: HTTPError) -> String {
        switch error {
        case .timedOut: "timed out"
        case .connect(let why, _): "cannot connect: \(why)"
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
