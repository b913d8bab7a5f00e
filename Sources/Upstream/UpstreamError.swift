// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

/// Reason for which an upstream returned no answer.
package enum UpstreamError: Error, Hashable {
    case timedOut

    case unreachable(String)

    /// The server returned an error RCODE or a referral, possibly with an EDE (RFC 8914).
    case declined(RCode, because: ExtendedError? = nil)

    /// A CNAME loop, or more than ``UpstreamLimits/longestChain`` CNAMEs.
    case aliases

    /// HTTP status 429 (RFC 6585 §4).
    case rateLimited

    /// HTTP status other than 200 and 429; not a sign of an outage, because 503 can be a rate
    /// limit.
    case httpStatus(Int)

    /// The connection was lost or the reply was invalid.
    case broken(String)

    /// TLS authentication failed; no query was sent (RFC 8310 §5).
    case untrusted(String)

    case loop

    case paused

    /// The network no longer announces the server; does not count as a failure of the server.
    case withdrawn

    case noServer(String)

    /// A limit of this daemon or machine was reached; the server is not at fault.
    case exhausted(String)

    /// A limit on queries in flight was reached.
    case crowded

    /// Like `crowded`, but other queries of the same client have reached the limit.
    case clientCrowded
}

extension UpstreamError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut: "timed out"
        case .unreachable(let why): why
        case .declined(.noError, because: _): "returned a referral"
        case .declined(let rcode, because: let code?): "returned \(rcode) (\(code))"
        case .declined(let rcode, because: nil): "returned \(rcode)"
        case .aliases: "returned a CNAME loop, or too many CNAME records"
        case .rateLimited: "returned HTTP status 429"
        case .httpStatus(let status): "returned HTTP status \(status)"
        case .broken(let why): why
        case .untrusted(let why): "cannot be trusted: \(why)"
        case .loop: "forwards queries back to this daemon"
        case .paused: "paused by an operator"
        case .withdrawn: "is no longer a DNS server of the network"
        case .noServer(let why): why
        case .exhausted(let why): why
        case .crowded, .clientCrowded: "too many queries in flight"
        }
    }

    /// Key under which failures are counted.
    package var kind: String {
        switch self {
        case .timedOut: "timeout"
        case .unreachable: "unreachable"
        case .declined, .aliases, .httpStatus: "declined"
        case .rateLimited: "rate-limited"
        case .broken: "broken"
        case .untrusted: "untrusted"
        case .loop: "loop"
        case .paused: "paused"
        case .withdrawn: "withdrawn"
        case .noServer: "no-server"
        case .exhausted, .crowded, .clientCrowded: "exhausted"
        }
    }

    /// True if possibly only one of several hosts behind the server's address causes the error.
    var isOfOneHost: Bool { if case .broken = self { true } else { isUntrusted } }

    var isUntrusted: Bool { if case .untrusted = self { true } else { false } }

    package var isCrowded: Bool { self == .crowded || self == .clientCrowded }

    /// True if the server responded, but declined to answer.
    var isDecline: Bool {
        switch self {
        case .declined, .aliases, .rateLimited, .httpStatus: true
        default: false
        }
    }

    /// Permission to send the query to the same server again.
    var repetition: AttemptPlan.Repetition {
        switch self {
        case .declined(.servFail, because: let code), .declined(.refused, because: let code):
            code?.isLasting ?? false ? .never : .afterPause
        case .httpStatus: .allowed
        default: isDecline ? .never : .allowed
        }
    }

    /// True if the daemon repeats the query after this error, unless the client is too busy.
    package var isRepeatable: Bool { self == .timedOut || repetition == .afterPause }

    /// True if the server is not the cause of the error.
    var isOurs: Bool {
        switch self {
        case .exhausted, .withdrawn: true
        default: false
        }
    }
}

extension ExtendedError {
    /// True if the server would return the same error again (RFC 8914 §4).
    ///
    /// Examples: failed DNSSEC validation, a cached error, a blocked name, a query that the server
    /// does not support.
    fileprivate var isLasting: Bool {
        switch rawValue {
        case 1, 2, 5...13, 15...18, 20, 21, 25, 27, 28, 30: true
        default: false
        }
    }
}

// MARK: - Conversion of errors

extension UpstreamError {
    init(_ message: Message) {
        self = .declined(message.rcode, because: message.edns?.extendedErrors.first?.code)
    }

    init(_ error: SocketError) {
        switch error {
        case .timedOut: self = .timedOut
        case .closed: self = .broken("closed the connection before the reply")
        case .broken(let why): self = .broken(why)
        case _ where error.isReset: self = .broken(error.description)
        case _ where error.isShortage: self = .exhausted(error.description)
        default: self = .unreachable(error.description)
        }
    }

    init(_ error: TLSError) {
        switch error {
        case .socket(.closed): self = .broken("closed the connection before the handshake")
        case .socket(let error): self.init(error)
        case .untrusted(let why): self = .untrusted(why)
        case .handshake(let why), .setup(let why): self = .broken("TLS: \(why)")
        }
    }

    init(_ error: HTTPError) {
        switch error {
        case .timedOut: self = .timedOut
        // The server is reachable: an overloaded server can close connections that it has accepted.
        case .connect(let why, isOpen: true): self = .broken(why)
        case .connect(let why, isOpen: false): self = .unreachable(why)
        case .cutOff: self = .broken("closed the connection before the reply")
        case .exhausted(let why): self = .exhausted(why)
        case .tls(let why): self = .untrusted(why)
        case .broken(let why), .invalidRequest(let why): self = .broken(why)
        case .bodyTooLarge(let limit): self = .broken("sent a reply of more than \(limit) octets")
        case .cancelled: self = .broken("the query was cancelled")
        }
    }
}
