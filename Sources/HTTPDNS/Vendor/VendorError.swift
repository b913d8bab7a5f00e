// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Why a vendor's server gave no answer that can be believed.
///
/// None of the cases holds a URL, a key or a token, so all of them may be shown.
package enum VendorError: Error, Hashable {
    /// 401 or 403, or a code that says so: the account, token or signature is not accepted.
    case unauthorized(status: Int, code: VendorCode? = nil)

    /// The signature has expired, or lasts too long: one of the two clocks is wrong.
    ///
    /// `vendorSeconds` is the vendor's clock, in seconds since 1970, if the body tells it.
    case wrongTime(status: Int, code: VendorCode, vendorSeconds: Int64? = nil)

    /// The vendor does not accept this request, and no server of it would, as a bad name.
    case refused(status: Int, code: VendorCode)

    /// 429: too many calls; `retryAfter` as far as the vendor gave seconds.
    case limited(retryAfter: Duration?)

    /// Any other status but 200, or a code that says that this server cannot.
    case serverStatus(Int, code: VendorCode? = nil)

    /// A resolver with a JSON API could not resolve the name.
    case responseCode(RCode)

    /// The body is not of the vendor's grammar.
    case unreadable(UnreadableReply)

    /// The body is sealed, but not with our key.
    case undecryptable

    /// The reply is about a name that was not asked.
    case wrongName

    /// No reply arrived.
    case transport(HTTPError)

    /// The name is no host name, so no vendor is asked about it.
    case unusableName

    /// Our own cryptography failed.
    case cipher(CipherError)

    /// The time for the call was over before a server could be tried.
    case outOfTime

    /// The operator paused the vendor.
    case paused

    /// The day's budget of calls is spent.
    case budget

    /// This second's calls are spent.
    case pace

    /// Too many look-ups wait already.
    case busy
}

/// What is wrong with a body that cannot be read.
package enum UnreadableReply: Error, Hashable {
    /// More octets than `VendorLimits.maximumBody`.
    case tooLarge(octets: Int)

    /// A sealed body that is not hexadecimal.
    case notHexadecimal

    /// No record has addresses, or says that there are none.
    case noRecord

    /// A sealed reply lacks the name, the TTL or the client's address, which were asked for.
    case incomplete

    /// The body is no JSON (RFC 8259), has a key twice, too many keys, or is nested too deep.
    case notJSON(at: Int)

    /// A member of the JSON is missing, or not of its type.
    case member(String)
}

// MARK: - What to do about it

extension VendorError {
    /// What an error says about the server that it came from, and so what helps.
    package enum Verdict: Sendable, Hashable {
        /// This server failed; another may do better.
        case serverFailed

        /// The account is refused; every server will say so.
        case accountRefused

        /// The fault is on our side, or nobody's: no server did anything wrong.
        case notTheServer
    }

    /// Whose fault it is.
    package var verdict: Verdict {
        switch self {
        case .unauthorized, .wrongTime: .accountRefused
        case .transport(.cancelled), .transport(.exhausted), .transport(.invalidRequest):
            .notTheServer
        case .refused, .unusableName, .cipher, .outOfTime, .paused, .budget, .pace, .busy:
            .notTheServer
        case .limited, .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName,
            .transport:
            .serverFailed
        }
    }

    /// Whether another try with a repaired clock may be accepted.
    ///
    /// A 401 or 403 may be about time unless its code is known to be about the account.
    package var mayBeClockSkew: Bool {
        switch self {
        case .wrongTime: true
        case .unauthorized(_, let code): code.map { !VendorCode.accountCodes.contains($0) } ?? true
        default: false
        }
    }

    /// Whether the vendor says that this server is not for us any more.
    ///
    /// Its scheduling service shall then be asked at once (Alibaba's Android kit does).
    package var wantsOtherServers: Bool {
        if case .serverStatus(_, code: .serviceLevelDeny?) = self { true } else { false }
    }

    /// Whether the vendor may charge for the request, if it was sent.
    ///
    /// An error of the transport does not say whether it was: see `RequestHandle.wasSent`.
    package var mayBeBilled: Bool {
        switch self {
        case .unauthorized, .wrongTime, .refused, .limited: false
        case .unusableName, .cipher, .outOfTime, .paused, .budget, .pace, .busy: false
        case .serverStatus, .responseCode, .unreadable, .undecryptable, .wrongName, .transport: true
        }
    }

    /// The kinds that are counted apart.
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

    /// The kind it is counted under.
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
        case .budget: .budget
        case .pace: .pace
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
            "the vendor's clock and ours disagree (\(Self.text(of: status, code)))"
        case .refused(let status, let code):
            "the vendor refuses the request (\(Self.text(of: status, code)))"
        case .limited(nil): "too many calls (HTTP 429)"
        case .limited(let retryAfter?): "too many calls (HTTP 429), again after \(retryAfter)"
        case .serverStatus(let status, let code): Self.text(of: status, code)
        case .responseCode(let code): "the resolver says \(code)"
        case .unreadable(.tooLarge(let octets)): "the reply is too large (\(octets) octets)"
        case .unreadable(.notHexadecimal): "the reply is not hexadecimal"
        case .unreadable(.noRecord): "the reply has no readable record"
        case .unreadable(.incomplete):
            "the reply lacks the name, the TTL or the client address that was asked for"
        case .unreadable(.notJSON(let offset)): "the reply is no JSON (octet \(offset))"
        case .unreadable(.member(let name)): "the reply has no usable \"\(name)\""
        case .undecryptable: "the reply cannot be decrypted with our key"
        case .wrongName: "the reply is about another name"
        case .transport(let error): Self.text(of: error)
        case .unusableName: "the name is no host name"
        case .cipher(let error): error.description
        case .outOfTime: "no time was left"
        case .paused: "the operator paused this vendor"
        case .budget: "the budget of calls for today is spent"
        case .pace: "the calls of this second are spent"
        case .busy: "too many look-ups wait already"
        }
    }

    /// A status and the vendor's own word, if there is one.
    private static func text(of status: Int, _ code: VendorCode?) -> String {
        code.map { "HTTP \(status), \($0)" } ?? "HTTP \(status)"
    }

    /// One line about a broken transfer.
    private static func text(of error: HTTPError) -> String {
        switch error {
        case .timedOut: "timed out"
        case .connect(let why): "cannot connect: \(why)"
        case .exhausted(let why): why
        case .tls(let why): "TLS failed: \(why)"
        case .broken(let why): "the reply broke off: \(why)"
        case .bodyTooLarge(let limit): "the reply is larger than \(limit) octets"
        case .invalidRequest(let why): "the request cannot be sent: \(why)"
        case .cancelled: "cancelled"
        }
    }
}
