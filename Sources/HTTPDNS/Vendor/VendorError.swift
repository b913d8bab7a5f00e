// SPDX-License-Identifier: Apache-2.0
package import Net

/// Why a vendor's server gave no answer that can be believed.
///
/// None of the cases holds a URL, a key or a token, so all of them may be shown.
package enum VendorError: Error, Hashable {
    /// 401 or 403: the account, token or signature is not accepted.
    case unauthorized(status: Int)

    /// 429: too many calls; `retryAfter` as far as the vendor gave seconds.
    case limited(retryAfter: Duration?)

    /// Any other status but 200.
    case serverStatus(Int)

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
}

/// What is wrong with a body that cannot be read.
package enum UnreadableReply: Error, Hashable {
    /// More octets than `VendorLimits.maximumBody`.
    case tooLarge(octets: Int)

    /// A sealed body that is not hexadecimal.
    case notHexadecimal

    /// No record has addresses, or says that there are none.
    case noRecord
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
        case .unauthorized: .accountRefused
        case .transport(.cancelled), .transport(.invalidRequest): .notTheServer
        case .unusableName, .cipher, .outOfTime: .notTheServer
        case .limited, .serverStatus, .unreadable, .undecryptable, .wrongName, .transport:
            .serverFailed
        }
    }

    /// Whether the request may have reached the vendor, and so be on the bill.
    package var mayBeBilled: Bool {
        switch self {
        case .transport(.connect), .transport(.tls), .transport(.invalidRequest): false
        case .unauthorized, .limited, .unusableName, .cipher, .outOfTime: false
        case .serverStatus, .unreadable, .undecryptable, .wrongName, .transport: true
        }
    }

    /// The kinds that are counted apart.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case unauthorized
        case limited
        case serverStatus = "server-status"
        case unreadable
        case undecryptable
        case wrongName = "wrong-name"
        case timeout
        case connect
        case tls
        case broken
        case cancelled
        case ours
    }

    /// The kind it is counted under.
    package var kind: Kind {
        switch self {
        case .unauthorized: .unauthorized
        case .limited: .limited
        case .serverStatus: .serverStatus
        case .unreadable, .transport(.bodyTooLarge): .unreadable
        case .undecryptable: .undecryptable
        case .wrongName: .wrongName
        case .transport(.timedOut), .outOfTime: .timeout
        case .transport(.connect): .connect
        case .transport(.tls): .tls
        case .transport(.broken): .broken
        case .transport(.cancelled): .cancelled
        case .transport(.invalidRequest), .unusableName, .cipher: .ours
        }
    }
}

// MARK: - Text

extension VendorError: CustomStringConvertible {
    /// One line for the log and for `status`.
    package var description: String {
        switch self {
        case .unauthorized(let status): "the vendor refuses the account (HTTP \(status))"
        case .limited(nil): "too many calls (HTTP 429)"
        case .limited(let retryAfter?): "too many calls (HTTP 429), again after \(retryAfter)"
        case .serverStatus(let status): "HTTP \(status)"
        case .unreadable(.tooLarge(let octets)): "the reply is too large (\(octets) octets)"
        case .unreadable(.notHexadecimal): "the reply is not hexadecimal"
        case .unreadable(.noRecord): "the reply has no readable record"
        case .undecryptable: "the reply cannot be decrypted with our key"
        case .wrongName: "the reply is about another name"
        case .transport(let error): Self.text(of: error)
        case .unusableName: "the name is no host name"
        case .cipher(let error): error.description
        case .outOfTime: "no time was left"
        }
    }

    /// One line about a broken transfer.
    private static func text(of error: HTTPError) -> String {
        switch error {
        case .timedOut: "timed out"
        case .connect(let why): "cannot connect: \(why)"
        case .tls(let why): "TLS failed: \(why)"
        case .broken(let why): "the reply broke off: \(why)"
        case .bodyTooLarge(let limit): "the reply is larger than \(limit) octets"
        case .invalidRequest(let why): "the request cannot be sent: \(why)"
        case .cancelled: "cancelled"
        }
    }
}

// MARK: - From an HTTP status

extension HTTPReply {
    /// The body of a reply with status 200 and not too large.
    ///
    /// - Throws: `VendorError.unauthorized`, `.limited`, `.serverStatus` or `.unreadable`.
    func acceptedBody() throws(VendorError) -> [UInt8] {
        switch status {
        case 200: break
        case 401, 403: throw .unauthorized(status: status)
        case 429: throw .limited(retryAfter: retryAfterSeconds.map(Duration.seconds))
        default: throw .serverStatus(status)
        }
        guard body.count <= VendorLimits.maximumBody else {
            throw .unreadable(.tooLarge(octets: body.count))
        }
        return body
    }

    /// `Retry-After` in seconds, capped; its other form, a date, counts as none (RFC 9110 §10.2.3).
    private var retryAfterSeconds: Int64? {
        guard let retryAfter, !retryAfter.isEmpty,
            retryAfter.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        // Digits that do not fit an Int64 are still a number, only an absurd one.
        return min(Int64(retryAfter) ?? .max, VendorLimits.maximumRetryAfter)
    }
}
